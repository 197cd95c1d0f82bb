"""Borders of regions."""

from __future__ import annotations

import numpy as np

from napari_dpdeblur.fitting.surfaces.regions import borders_between


def test_borders_between_adjacent_regions() -> None:
    regions = np.zeros((4, 6), int)
    regions[:, 3:] = 1
    regions[3, :] = 2
    borders = borders_between(regions)
    assert sorted(borders) == [(0, 1), (0, 2), (1, 2)]
    assert {pair: len(pixels) for pair, pixels in borders.items()} == {
        (0, 1): 3,
        (0, 2): 3,
        (1, 2): 3,
    }
    np.testing.assert_array_equal(np.sort(borders[0, 1]), [3, 9, 15])


def test_one_region_has_no_borders() -> None:
    assert borders_between(np.zeros((4, 6), int)) == {}
