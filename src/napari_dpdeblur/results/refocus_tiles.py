"""Tiles of a picture that is rendered again, and the blur of one window around a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import fft

from napari_dpdeblur.results.aperture import Aperture

# With one kernel for the whole picture, tiles are only there to leave out what cannot be seen.
FREE_TILE_PX = 128

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tile:
    """A part of the picture: its place, its kernel and its weight against its neighbours."""

    rows: slice
    cols: slice
    kernel: int
    weight: FloatArray  # (h, w)

    def window(self, planes: FloatArray, margin: tuple[int, int], padding_px: int) -> FloatArray:
        """The tile and its margin, cut from planes (C, H, W) that were padded on all sides."""
        top, left = padding_px - margin[0], padding_px - margin[1]
        rows = slice(self.rows.start + top, self.rows.stop + padding_px + margin[0])
        return planes[:, rows, self.cols.start + left : self.cols.stop + padding_px + margin[1]]


def make_tiles(aperture: Aperture, reduction: int, blend_px: int) -> list[Tile]:
    """Tiles of the reduced picture, blended linearly over ``blend_px`` where kernels change."""
    layout = aperture.layout
    if (layout.rows, layout.cols) == (1, 1):
        return _free_tiles(*(-(-side // reduction) for side in layout.shape))
    if reduction > 1:
        layout, blend_px = layout.coarser(reduction, reduction), blend_px // reduction
    rows, cols = _blended(layout.row_edges, blend_px), _blended(layout.col_edges, blend_px)
    return [
        Tile(row, col, i * len(cols) + j, np.outer(row_weight, col_weight))
        for i, (row, row_weight) in enumerate(rows)
        for j, (col, col_weight) in enumerate(cols)
    ]


class WindowBlur:
    """Blurs windows with kernels (P, V, Ky, Kx)."""

    def __init__(self, kernels: FloatArray) -> None:
        self._kernels = kernels
        self._spectra: dict[tuple[int, int, int], npt.NDArray[np.complex64]] = {}
        self.margin = (kernels.shape[-2] // 2, kernels.shape[-1] // 2)
        self.views = kernels.shape[1]

    def __call__(self, window: FloatArray, kernel: int) -> FloatArray:
        """Blur a window (C, n, m) with one of the kernels, without its margin: (V, C, h, w)."""
        top, left = self.margin
        if top == left == 0:
            return np.broadcast_to(window, (self.views, *window.shape))
        height, width = window.shape[-2:]
        fft_px = fft.next_fast_len(height, real=True), fft.next_fast_len(width, real=True)
        product = fft.rfft2(window, fft_px) * self._spectrum(kernel, *fft_px)[:, None]
        blurred: FloatArray = fft.irfft2(product, fft_px, overwrite_x=True)
        # The kernel's first pixel lies at the origin, so what wraps around falls before this part.
        return blurred[..., 2 * top : height, 2 * left : width]

    def _spectrum(self, kernel: int, height: int, width: int) -> npt.NDArray[np.complex64]:
        key = (kernel, height, width)
        if key not in self._spectra:
            self._spectra[key] = fft.rfft2(self._kernels[kernel], (height, width))
        return self._spectra[key]


def _free_tiles(height: int, width: int) -> list[Tile]:
    rows, cols = (
        [slice(start, min(start + FREE_TILE_PX, side)) for start in range(0, side, FREE_TILE_PX)]
        for side in (height, width)
    )
    return [
        Tile(row, col, 0, np.ones((row.stop - row.start, col.stop - col.start), np.float32))
        for row in rows
        for col in cols
    ]


def _blended(edges: Sequence[int], blend_px: int) -> list[tuple[slice, FloatArray]]:
    """Pixels of each tile of an axis, with a linear ramp across its inner edges."""
    band = min(blend_px, int(np.diff(edges).min())) // 2
    return [
        _ramp(low, high, band if low > 0 else 0, band if high < edges[-1] else 0)
        for low, high in pairwise(edges)
    ]


def _ramp(low: int, high: int, before: int, after: int) -> tuple[slice, FloatArray]:
    """Weight of a tile that reaches ``before`` and ``after`` pixels into its neighbours."""
    part = slice(low - before, high + after)
    centre = np.arange(part.start, part.stop) + 0.5
    weight = np.ones(len(centre), np.float32)
    if before:
        weight = np.minimum(weight, 0.5 + (centre - low) / (2 * before))
    if after:
        weight = np.minimum(weight, 0.5 + (high - centre) / (2 * after))
    return part, weight.astype(np.float32)
