from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.optics.tile_axis import TileAxis


@pytest.mark.parametrize("blend_px", [0, 1, 6, 100])
@pytest.mark.parametrize("edges", [(0, 9), (0, 5, 12, 20), (0, 1, 2), (0, 30, 33, 64)])
def test_weights_sum_to_one_everywhere(edges: tuple[int, ...], blend_px: int) -> None:
    axis = TileAxis.of(edges, blend_px)
    assert axis.weights.shape == (len(edges) - 1, axis.window)
    np.testing.assert_allclose(axis.full_weights().sum(0), 1, rtol=0, atol=1e-12)


def test_a_band_is_linear_around_an_inner_edge() -> None:
    first, second = TileAxis.of((0, 10, 20), 4).full_weights()
    np.testing.assert_allclose(first[7:13], [1, 0.875, 0.625, 0.375, 0.125, 0])
    np.testing.assert_allclose(second, 1 - first)


def test_without_a_band_each_pixel_has_one_tile() -> None:
    weights = TileAxis.of((0, 3, 8), 0).full_weights()
    np.testing.assert_array_equal(weights[0], [1, 1, 1, 0, 0, 0, 0, 0])
