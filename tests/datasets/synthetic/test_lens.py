from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.calibration.sides import disparity_px
from napari_dpdeblur.datasets.synthetic.lens import (
    default_tiles,
    synthetic_front_kernels,
    synthetic_kernels,
    synthetic_vignetting,
)
from napari_dpdeblur.errors import CaptureError


def _centroids_x(kernels: np.ndarray) -> np.ndarray:
    offsets = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
    return (kernels.sum(axis=-2) * offsets).sum(axis=-1)


@pytest.fixture(scope="module")
def kernels() -> np.ndarray:
    return synthetic_kernels(4, 6)


def test_kernels_are_light(kernels):
    assert kernels.shape == (24, 2, 41, 41)
    assert kernels.dtype == np.float32
    assert kernels.min() >= 0
    np.testing.assert_allclose(kernels.sum(axis=(2, 3)), 1, rtol=1e-5)


def test_kernels_fade_out_before_their_border(kernels):
    border = np.concatenate(
        [kernels[..., 0], kernels[..., -1], kernels[..., 0, :], kernels[..., -1, :]]
    )
    assert border.max() < 1e-2 * kernels.max()


def test_disparity_is_like_that_of_a_phone_in_every_tile(kernels):
    left, right = _centroids_x(kernels).T
    assert (left - right).mean() == pytest.approx(-5.3, abs=0.02)
    assert np.abs(left - right + 5.3).max() < 0.6


@pytest.mark.parametrize("disparity_px", [-2.0, -7.0])
def test_disparity_can_be_chosen(disparity_px: float):
    left, right = _centroids_x(synthetic_kernels(2, 2, 61, disparity_px)).T
    assert (left - right).mean() == pytest.approx(disparity_px, abs=0.05)


def test_views_are_not_mirror_images(kernels):
    mirrored = kernels[:, 1, :, ::-1]
    assert np.abs(kernels[:, 0] - mirrored).sum(axis=(1, 2)).min() > 0.1


def test_kernels_differ_between_centre_and_corners(kernels):
    centre, corner = kernels[2 + 6], kernels[0]
    assert np.abs(centre - corner).sum(axis=(1, 2)).min() > 0.1


@pytest.mark.parametrize(("rows", "cols", "size"), [(1, 1, 40), (1, 1, 1), (0, 1, 41)])
def test_impossible_grid(rows: int, cols: int, size: int):
    with pytest.raises(CaptureError, match="need an odd size of at least 3 px and at least one"):
        synthetic_kernels(rows, cols, size)


def test_support_that_is_too_small_says_what_would_do():
    with pytest.raises(
        CaptureError, match=r"21 px are too small for a disparity of -5\.3 px; use a size"
    ):
        synthetic_kernels(2, 2, 21)


@pytest.mark.parametrize(("size", "tiles"), [((64, 64), (1, 1)), ((1512, 2016), (6, 8))])
def test_tiles_follow_the_size(size, tiles):
    assert default_tiles(*size) == tiles


def test_vignetting_falls_off_and_differs_between_the_views():
    maps = synthetic_vignetting(60, 80)
    assert maps.shape == (2, 60, 80)
    assert maps.max() == 1
    assert 0.1 < maps.min() < 0.4
    assert (maps[:, 30, 40] > 2 * maps[:, 0, 0]).all()
    assert maps[0, 30, 0] / maps[1, 30, 0] > 1.2
    assert maps[0, 30, -1] / maps[1, 30, -1] < 0.8


def test_kernels_in_front_are_turned_and_differ_in_their_rim():
    behind = synthetic_kernels(2, 3, disparity_px=-4.0)
    same_rim = synthetic_kernels(2, 3, disparity_px=4.0)
    in_front = synthetic_front_kernels(2, 3, disparity_px=4.0)
    assert disparity_px(in_front).mean() == pytest.approx(4.0, abs=0.01)
    # without a rim of its own the front is the point reflection, except for the common offset
    for power in (2, 4):
        np.testing.assert_allclose(_moments(same_rim, power), _moments(behind, power), rtol=0.01)
    assert (in_front >= 0).all()
    kurtosis = [_moments(k, 4) / _moments(k, 2) ** 2 for k in (in_front, same_rim)]
    assert (kurtosis[0] > 1.03 * kurtosis[1]).all()  # light in the middle instead of at the rim


def _moments(kernels, power):
    """Central moment along y of each kernel, the same after a turn of 180 degrees."""
    profile, offset = kernels.sum(-1), np.arange(kernels.shape[-1])
    mean = (profile * offset).sum(-1, keepdims=True)
    return (profile * (offset - mean) ** power).sum(-1)
