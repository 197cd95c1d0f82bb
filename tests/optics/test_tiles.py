from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from napari_dpdeblur.optics import TileLayout, TileWindows


def test_regular_layout_divides_the_published_field_evenly() -> None:
    layout = TileLayout.regular(1008, 1344, 6, 8)
    assert layout.row_edges == (0, 168, 336, 504, 672, 840, 1008)
    assert (layout.rows, layout.cols, layout.shape) == (6, 8, (1008, 1344))


def test_uneven_tiles_differ_by_at_most_one_pixel() -> None:
    edges = TileLayout.regular(100, 1, 7, 1).row_edges
    sizes = {stop - start for start, stop in pairwise(edges)}
    assert sizes == {14, 15}


def test_crop_keeps_the_tiles_it_touches() -> None:
    layout, kept = TileLayout.regular(40, 60, 4, 6).crop(9, 20, 12, 15)
    assert layout.row_edges == (0, 1, 11, 12)
    assert layout.col_edges == (0, 10, 15)
    assert kept == [2, 3, 8, 9, 14, 15]


def test_crop_to_everything_changes_nothing() -> None:
    layout = TileLayout.regular(41, 59, 4, 6)
    assert layout.crop(0, 0, 41, 59) == (layout, list(range(24)))


@pytest.mark.parametrize("blend_px", [0, 1, 7, 32, 1000])
@pytest.mark.parametrize("shape", [(40, 60), (41, 59)])
def test_blending_weights_sum_to_one(blend_px: int, shape: tuple[int, int]) -> None:
    like = torch.zeros((), dtype=torch.float64)
    windows = TileWindows.of(TileLayout.regular(*shape, 3, 4), (2, 2), blend_px, like)
    image = torch.zeros(1, *shape, dtype=torch.float64)
    windows.scatter(torch.ones(12, 1, *windows.fft_px, dtype=torch.float64), image)
    torch.testing.assert_close(image, torch.ones_like(image))


def test_windows_are_cut_from_the_edge_replicated_image() -> None:
    like = torch.zeros(())
    windows = TileWindows.of(TileLayout.regular(4, 6, 1, 2), (1, 1), 0, like)
    image = torch.arange(24.0).reshape(1, 4, 6)
    first, second = windows.gather(image)[:, 0]
    replicated = torch.nn.functional.pad(image[None], (1, 1, 1, 1), mode="replicate")[0, 0]
    assert torch.equal(first[:6, :5], replicated[:, :5])
    assert torch.equal(second[:6, :5], replicated[:, 3:8])


@pytest.mark.parametrize(("kernel_px", "fft_px"), [(81, 256), (53, 224), (33, 200), (7, 192)])
def test_windows_have_sizes_that_an_fft_likes(kernel_px: int, fft_px: int) -> None:
    layout = TileLayout.regular(168, 336, 1, 2)
    margin = (kernel_px // 2, kernel_px // 2)
    assert TileWindows.of(layout, margin, 0, torch.zeros(())).fft_px == (fft_px, fft_px)
