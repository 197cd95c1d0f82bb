"""Overlapping bands of rows, which bound the memory of large images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.layers import LayerShapes
from napari_dpdeblur.fitting.problem import FitProblem

MAX_BAND_PIXELS = 2_000_000


@dataclass(frozen=True)
class Band:
    """Rows ``first`` to ``last`` of an image; ``weight`` (rows, 1) fades towards neighbours.

    The weights of all bands sum to 1 in each row, and are 0 in the outer half of each overlap,
    where a band misses the light from outside it.
    """

    first: int
    last: int
    weight: Tensor

    def of(self, images: Tensor) -> Tensor:
        """This band of images (..., h, w)."""
        return images[..., self.first : self.last, :]

    def problem(self, whole: FitProblem) -> FitProblem:
        """The problem of explaining this band alone."""
        height, width = self.last - self.first, whole.views.shape[-1]
        layout, tiles = whole.layout.crop(self.first, 0, height, width)
        return replace(
            whole,
            views=self.of(whole.views),
            kernels=whole.kernels.select(tiles, layout.rows, layout.cols),
            calibrated=None,
            layout=layout,
            shape=(height * whole.pixel_pitch[0], whole.shape[1]),
        )

    def shapes(self, whole: LayerShapes) -> LayerShapes:
        """The layers within this band."""
        return LayerShapes(self.of(whole.visible), self.of(whole.hidden), self.of(whole.background))


def bands_of(problem: FitProblem, largest_scale: float, overlap_radii: float) -> list[Band]:
    """Bands of at most about MAX_BAND_PIXELS, one when the image is small enough.

    They overlap by ``overlap_radii`` radii of the largest kernel.
    """
    height, width = problem.views.shape[-2:]
    count = -(-height * width // MAX_BAND_PIXELS)
    reach = problem.kernels.size_px[0] / 2 * largest_scale / problem.pixel_pitch[0]
    overlap = min(round(overlap_radii * reach), height // count)
    return [_band(problem.views, i, count, overlap) for i in range(count)]


def _band(views: Tensor, index: int, count: int, overlap: int) -> Band:
    height = views.shape[-2]
    start, stop = height * index / count, height * (index + 1) / count
    first = max(round(start - overlap / 2), 0)
    last = min(round(stop + overlap / 2), height)
    row = torch.arange(first, last, device=views.device, dtype=views.dtype)[:, None] + 0.5
    weight = torch.ones_like(row)
    if index > 0:
        weight = weight * _fade(row - start, overlap / 2)
    if index < count - 1:
        weight = weight * (1 - _fade(row - stop, overlap / 2))
    return Band(first, last, weight)


def _fade(distance: Tensor, width: float) -> Tensor:
    return (distance / width + 0.5).clamp(0, 1)
