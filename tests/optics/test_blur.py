from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.signal import convolve2d

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

Kernels = Callable[..., KernelGrid]


def _direct(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolution of the whole edge-replicated image with one kernel."""
    height, width = kernel.shape
    border = ((height // 2, height // 2), (width // 2, width // 2))
    return np.asarray(convolve2d(np.pad(image, border, mode="edge"), kernel, mode="valid"))


def _tile_weights(edges: tuple[int, ...], blend_px: int) -> np.ndarray:
    """Weights (tiles, length) of a hard selection or of linear ramps across the inner edges."""
    centres = np.arange(edges[-1]) + 0.5
    half = max(blend_px / 2, 1e-9)
    low = np.array([-np.inf, *edges[1:-1]])[:, None]
    high = np.array([*edges[1:-1], np.inf])[:, None]
    entering = np.clip(0.5 + (centres - low) / (2 * half), 0, 1)
    leaving = np.clip(0.5 + (high - centres) / (2 * half), 0, 1)
    return np.minimum(entering, leaving)


@pytest.mark.parametrize("blend_px", [0, 4])
@pytest.mark.parametrize("shape", [(24, 30), (23, 31)])
@pytest.mark.parametrize("size", [5, (3, 9)])
def test_equals_direct_convolution_per_tile(
    random_kernels: Kernels, shape: tuple[int, int], blend_px: int, size: int | tuple[int, int]
) -> None:
    grid = random_kernels(2, 3, size)
    layout = TileLayout.regular(*shape, 2, 3)
    image = torch.rand(1, 1, *shape, dtype=torch.float64)
    rows = _tile_weights(layout.row_edges, blend_px)
    cols = _tile_weights(layout.col_edges, blend_px)
    for view in range(2):
        expected = np.zeros(shape)
        for tile, kernel in enumerate(grid.kernels[:, view].numpy()):
            row, col = divmod(tile, 3)
            expected += np.outer(rows[row], cols[col]) * _direct(image[0, 0].numpy(), kernel)
        found = TiledBlur([grid], layout, blend_px)(image)[0, view, 0].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_impulse_gives_the_kernel_not_its_mirror_image(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1, 5)
    impulse = torch.zeros(1, 1, 11, 13, dtype=torch.float64)
    impulse[0, 0, 5, 6] = 1
    blurred = TiledBlur([grid], TileLayout.regular(11, 13, 1, 1))(impulse)
    torch.testing.assert_close(blurred[0, :, 0, 3:8, 4:9], grid.kernels[0])
    assert float(blurred[0, 0].sum()) == pytest.approx(1)


@pytest.mark.parametrize("blend_px", [0, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constant_stays_constant(
    random_kernels: Kernels, blend_px: int, dtype: torch.dtype
) -> None:
    blur = TiledBlur([random_kernels(3, 2, 7, dtype)], TileLayout.regular(25, 22, 3, 2), blend_px)
    constant = torch.full((1, 3, 25, 22), 0.37, dtype=dtype)
    blurred = blur(constant)
    assert blurred.dtype == dtype
    assert blurred.shape == (1, 2, 3, 25, 22)
    torch.testing.assert_close(blurred, torch.full_like(blurred, 0.37))


def test_blending_has_no_seam_where_hard_selection_has_one(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 2, 9)
    layout = TileLayout.regular(1, 80, 1, 2)
    ramp = torch.arange(80, dtype=torch.float64).expand(1, 1, 1, 80)
    seams = []
    for blend_px in (0, 32):
        slope = TiledBlur([grid], layout, blend_px)(ramp).diff(dim=-1)[..., 8:-8]
        seams.append((slope - 1).abs().amax(dim=-1))
    assert torch.all(seams[1] < 0.1 * seams[0])


def test_crop_equals_the_middle_of_the_whole(random_kernels: Kernels) -> None:
    layout = TileLayout.regular(40, 60, 4, 6)
    grid = random_kernels(4, 6, 5)
    image = torch.rand(1, 1, 40, 60, dtype=torch.float64)
    part, kept = layout.crop(7, 13, 21, 34)
    kernels = grid.select(kept, part.rows, part.cols)
    whole = TiledBlur([grid], layout, blend_px=0)(image)
    crop = TiledBlur([kernels], part, blend_px=0)(image[..., 7:28, 13:47])
    inner = (..., slice(2, -2), slice(2, -2))
    torch.testing.assert_close(crop[inner], whole[..., 7:28, 13:47][inner])


def test_layers_have_their_own_kernels(random_kernels: Kernels) -> None:
    grids = [random_kernels(2, 2, size) for size in (9, 5, 1)]
    blur = TiledBlur(grids, TileLayout.regular(12, 14, 2, 2))
    layers = torch.rand(3, 2, 12, 14, dtype=torch.float64)
    together = blur(layers)
    assert len(blur) == 3
    for i in range(3):
        torch.testing.assert_close(blur[i : i + 1](layers[i : i + 1])[0], together[i])


def test_restriction_leaves_out_the_other_tiles(random_kernels: Kernels) -> None:
    blur = TiledBlur([random_kernels(1, 2, 5)], TileLayout.regular(10, 20, 1, 2), blend_px=0)
    layers = torch.rand(1, 1, 10, 20, dtype=torch.float64)
    part = blur.restricted(torch.tensor([[False, True]]))(layers)
    assert part[..., :10].abs().max() == 0
    torch.testing.assert_close(part[..., 10:], blur(layers)[..., 10:])


def test_gradients_are_right(random_kernels: Kernels) -> None:
    blur = TiledBlur([random_kernels(2, 2, 3)], TileLayout.regular(5, 6, 2, 2), blend_px=2)
    layers = torch.rand(1, 1, 5, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(blur, (layers,))
    assert torch.autograd.gradgradcheck(blur, (layers,))


def test_large_images_are_processed_in_groups_of_tiles(random_kernels: Kernels) -> None:
    # 24 tiles of 120 px: more than one group, and the last group is smaller than the others.
    grid = random_kernels(4, 6, 3, torch.float32)
    layout = TileLayout.regular(480, 720, 4, 6)
    image = torch.rand(1, 5, 480, 720)
    blur = TiledBlur([grid], layout, blend_px=0)
    expected = [blur(image[:, i : i + 1]) for i in range(5)]
    torch.testing.assert_close(blur(image), torch.cat(expected, dim=2))
    views = torch.rand(1, 2, 5, 480, 720)
    gathered = [blur.adjoint(views[:, :, i : i + 1]) for i in range(5)]
    torch.testing.assert_close(blur.adjoint(views), torch.cat(gathered, dim=1))


def test_works_on_another_device_without_a_stray_tensor(random_kernels: Kernels) -> None:
    grid = random_kernels(2, 2, 5).to(device="meta")
    blur = TiledBlur([grid], TileLayout.regular(12, 14, 2, 2))
    views = blur(torch.empty(1, 3, 12, 14, device="meta", dtype=torch.float64))
    assert views.is_meta
    assert blur.adjoint(views).shape == (1, 3, 12, 14)


def test_grid_and_layout_have_to_agree(random_kernels: Kernels) -> None:
    with pytest.raises(CalibrationError, match="grid has 2 x 2 tiles, but the image is divided in"):
        TiledBlur([random_kernels(2, 2)], TileLayout.regular(12, 14, 2, 3))
