from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics import KernelGrid, check_kernels

Kernels = Callable[..., KernelGrid]


def _valid() -> np.ndarray:
    return np.full((6, 2, 5, 5), 1 / 25, dtype=np.float32)


def _with(value: float) -> np.ndarray:
    array = _valid()
    array[3, 1, 2, 2] = value
    return array


def _empty() -> np.ndarray:
    array = _valid()
    array[2, 0] = 0
    return array


BAD_KERNELS = {
    "NaN": (_with(np.nan), "contain NaN or infinity; calibrate again"),
    "infinity": (_with(np.inf), "contain NaN or infinity; calibrate again"),
    "negative": (_with(-1e-3), "contain negative values; light cannot be negative"),
    "even": (_valid()[..., :4, :4], "need an odd size .* 4 px wide; pad or crop them by one"),
    "object": (_valid().astype(object), "floating-point numbers, but the array holds object"),
    "integers": (_valid().astype(np.int64), "floating-point numbers, but the array holds int64"),
    "count": (_valid()[:5], "grid of 2 x 3 tiles needs 6 kernels per view, but 5 were given"),
    "one view": (_valid()[:, :1], r"shape \(tiles, 2 views, K, K\), but this grid has \(6, 1, 5"),
    "oblong": (_valid()[..., :3], r"shape \(tiles, 2 views, K, K\), but this grid has"),
    "empty": (_empty(), "kernel is empty .* calibrate again"),
}


@pytest.mark.parametrize("name", BAD_KERNELS)
def test_bad_kernels_are_refused(name: str) -> None:
    array, message = BAD_KERNELS[name]
    with pytest.raises(CalibrationError, match=message):
        check_kernels(array, 2, 3)
    with pytest.raises(CalibrationError, match=message):
        KernelGrid.from_array(array, 2, 3)


def test_kernels_are_normalised_and_copied() -> None:
    array = 7 * _valid()
    grid = KernelGrid.from_array(array, 2, 3)
    torch.testing.assert_close(grid.kernels.sum(dim=(-2, -1)), torch.ones(6, 2))
    assert array.max() == pytest.approx(7 / 25)


def _centroid_px(grid: KernelGrid) -> Tensor:
    """Centroids (P, V, 2) relative to the centre pixel, rows and columns."""
    y, x = (torch.arange(size) - size // 2 for size in grid.size_px)
    rows, cols = grid.kernels.sum(dim=-1), grid.kernels.sum(dim=-2)
    return torch.stack([(rows * y).sum(-1), (cols * x).sum(-1)], dim=-1)


@pytest.mark.parametrize("scale", [1.6, 1.3, 1.0, 0.5, 0.27, 0.1])
def test_scaling_preserves_mass_and_scales_the_centroid(
    random_kernels: Kernels, scale: float
) -> None:
    grid = random_kernels(2, 2, 21)
    scaled = grid.scaled(scale)
    torch.testing.assert_close(
        scaled.kernels.sum(dim=(-2, -1)), torch.ones(4, 2, dtype=torch.float64)
    )
    expected = scale * _centroid_px(grid)
    torch.testing.assert_close(_centroid_px(scaled), expected, rtol=0, atol=0.05)
    assert all(size % 2 == 1 for size in scaled.size_px)


def test_scaling_by_one_changes_nothing(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1, 9)
    torch.testing.assert_close(grid.scaled(1.0).kernels, grid.kernels)


def test_small_scales_have_small_support(published_kernels: KernelGrid) -> None:
    sizes = [published_kernels.scaled(scale).size_px[0] for scale in (1.3, 1.0, 0.5, 0.1)]
    assert sizes == [81, 61, 31, 7]


def test_an_empty_rim_is_cropped() -> None:
    kernel = torch.zeros(1, 2, 21, 21, dtype=torch.float64)
    kernel[..., 9:12, 8:13] = 1 / 15
    assert KernelGrid(kernel, 1, 1).scaled(1.0).size_px == (3, 5)


def test_coarse_pixels_of_an_oblong_shape(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1, 21)
    coarse = grid.scaled(1.0, pixel_pitch=(2.0, 1.0))
    assert coarse.size_px == (11, 21)
    expected = _centroid_px(grid) * torch.tensor([0.5, 1.0])
    torch.testing.assert_close(_centroid_px(coarse), expected, rtol=0, atol=0.05)


def test_scaling_is_by_area_not_by_sampling() -> None:
    kernel = torch.zeros(1, 2, 9, 9, dtype=torch.float64)
    kernel[..., 4, 3] = 0.5
    kernel[..., 4, 5] = 0.5
    third = KernelGrid(kernel, 1, 1).scaled(1 / 3)
    assert third.size_px == (1, 1)  # both pixels fall into the central one
    half = KernelGrid(kernel, 1, 1).scaled(0.5)
    torch.testing.assert_close(
        half.kernels[0, 0], torch.tensor([[0.25, 0.5, 0.25]], dtype=torch.float64)
    )


def test_disparity_is_left_minus_right() -> None:
    kernels = torch.zeros(1, 2, 9, 9)
    kernels[0, 0, 4, 2] = 1
    kernels[0, 1, 4, 7] = 1
    assert KernelGrid(kernels, 1, 1).disparity_px().tolist() == [-5]


def test_disparity_of_the_published_kernels(published_kernels: KernelGrid) -> None:
    disparity = published_kernels.disparity_px()
    assert disparity.shape == (48,)
    assert float(disparity.mean()) == pytest.approx(-5.3, abs=0.1)
    assert float((disparity - disparity.mean()).abs().max()) < 1


def _spots(positions_px: list[tuple[float, float]]) -> Tensor:
    """Smooth spots at (row, column) offsets from the centre of 31 px kernels: (1, V, 31, 31)."""
    offsets = torch.arange(31, dtype=torch.float64) - 15
    profiles = [[torch.exp(-((offsets - p) ** 2) / 8) for p in spot] for spot in positions_px]
    kernels = torch.stack([torch.outer(y, x) for y, x in profiles])[None]
    return kernels / kernels.sum(dim=(-2, -1), keepdim=True)


def test_centred_kernels_keep_their_disparity() -> None:
    centred = KernelGrid(_spots([(1.4, -1.7), (0.6, 4.3)]), 1, 1).centred()
    expected = _spots([(0.4, -3.0), (-0.4, 3.0)])
    torch.testing.assert_close(centred.kernels, expected, rtol=0, atol=1e-5)
    assert float(centred.disparity_px()) == pytest.approx(-6, abs=1e-3)


def test_select_keeps_the_named_tiles(random_kernels: Kernels) -> None:
    grid = random_kernels(2, 3)
    part = grid.select([1, 4], 2, 1)
    assert (part.rows, part.cols) == (2, 1)
    assert torch.equal(part.kernels, grid.kernels[[1, 4]])


def test_conversion_of_device_and_precision(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1)
    assert grid.to(dtype=torch.float32).kernels.dtype == torch.float32
    assert grid.to(device="meta").kernels.is_meta


def _box(height: int, width: int) -> KernelGrid:
    """One kernel of an even brightness for both views, inside of 31 x 31 px."""
    array = np.zeros((1, 2, 31, 31), np.float32)
    array[..., 15 - height : 16 + height, 15 - width : 16 + width] = 1
    return KernelGrid.from_array(array, 1, 1)


def _variance_px2(grid: KernelGrid, axis: int) -> float:
    profile = grid.kernels[0, 0].sum(1 - axis)
    position = torch.arange(len(profile)) - len(profile) // 2
    return float((profile * position**2).sum() - (profile * position).sum() ** 2)


def test_sharpening_takes_off_what_a_blur_has_added() -> None:
    sharp = _box(8, 5)
    blurred = gaussian_filter(sharp.kernels.numpy(), (0, 0, 2.0, 1.0))
    measured = KernelGrid.from_array(blurred, 1, 1)
    found = measured.sharpened((4.0, 1.0))
    assert (found.kernels >= 0).all()
    torch.testing.assert_close(found.kernels.sum((-2, -1)), torch.ones(1, 2))
    error, before = (float((g.kernels - sharp.kernels).norm()) for g in (found, measured))
    assert error < 0.85 * before
    for axis, added in enumerate((4.0, 1.0)):
        taken = _variance_px2(measured, axis) - _variance_px2(found, axis)
        assert 0.5 * added < taken < 1.1 * added


@pytest.mark.parametrize("nothing", [0.0, 1e-300])
def test_sharpening_by_nothing_changes_nothing(nothing: float) -> None:
    grid = _box(3, 4)
    torch.testing.assert_close(grid.sharpened((nothing, nothing)).kernels, grid.kernels)
