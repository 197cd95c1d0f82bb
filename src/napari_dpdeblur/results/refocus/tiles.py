"""Tiles of a refocused image, and their blur in batches.

Rendering runs beside the GUI thread: few calls on large arrays compete less for the interpreter
lock than many small ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.optics.tile_axis import TileAxis
from napari_dpdeblur.results.refocus.aperture import Aperture

# With one kernel for the whole image, tiles only serve to skip what is hidden.
FREE_TILE_PX = 128

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class WindowAxis:
    """Tiles along one axis: start of each, common length, weights (tiles, length)."""

    starts: IntArray
    length: int
    weights: FloatArray
    overshoot_px: int

    @classmethod
    def of(cls, edges: Sequence[int], blend_px: int) -> WindowAxis:
        """Tiles between ``edges``, with linear ramps of ``blend_px`` across the inner ones."""
        axis = TileAxis.of(edges, blend_px)
        starts, weights = np.array(axis.starts), axis.weights.astype(np.float32)
        overshoot_px = max(-axis.starts[0], axis.starts[-1] + axis.window - axis.length)
        return cls(starts, axis.window, weights, overshoot_px)


@dataclass(frozen=True)
class TileGrid:
    """Windows of equal size that cover an image, and the kernel of each."""

    rows: WindowAxis
    cols: WindowAxis
    kernel_of: IntArray  # (P,)

    @classmethod
    def of(cls, aperture: Aperture, reduction: int, blend_px: int) -> TileGrid:
        """Tiles of the reduced image, blended where the kernels change."""
        layout = aperture.layout
        is_free = (layout.rows, layout.cols) == (1, 1)
        if reduction > 1:
            layout, blend_px = layout.coarser(reduction, reduction), blend_px // reduction
        if is_free:
            edges = [_free_edges(side) for side in layout.shape]
            rows, cols = (WindowAxis.of(part, 0) for part in edges)
        else:
            rows, cols = (WindowAxis.of(e, blend_px) for e in (layout.row_edges, layout.col_edges))
        count = len(rows.starts) * len(cols.starts)
        return cls(rows, cols, np.zeros(count, int) if is_free else np.arange(count))

    def __len__(self) -> int:
        return len(self.kernel_of)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of every tile."""
        return self.rows.length, self.cols.length

    @property
    def overshoot_px(self) -> int:
        """How far tiles extend beyond the image."""
        return max(self.rows.overshoot_px, self.cols.overshoot_px)

    def windows(
        self, planes: FloatArray, tiles: IntArray, margin: tuple[int, int], padding: int
    ) -> FloatArray:
        """Tiles with their margin (n, C, h, w), cut from padded planes (C, H, W)."""
        size = (self.size[0] + 2 * margin[0], self.size[1] + 2 * margin[1])
        out = np.empty((len(tiles), len(planes), *size), np.float32)
        for window, (rows, cols) in zip(out, self._places(tiles, margin, padding), strict=True):
            window[:] = planes[:, rows, cols]
        return out

    def limits(
        self, plane: FloatArray, margin: tuple[int, int], padding: int
    ) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest value (P,) of a padded plane (H, W) in each tile with its margin."""
        places = self._places(np.arange(len(self)), margin, padding)
        values = [(plane[place].min(), plane[place].max()) for place in places]
        lows, highs = np.array(values, np.float32).T
        return lows, highs

    def _places(
        self, tiles: IntArray, margin: tuple[int, int], padding: int
    ) -> list[tuple[slice, slice]]:
        row, col = np.divmod(tiles, len(self.cols.starts))
        tops = (self.rows.starts[row] - margin[0] + padding).tolist()
        lefts = (self.cols.starts[col] - margin[1] + padding).tolist()
        height, width = self.size[0] + 2 * margin[0], self.size[1] + 2 * margin[1]
        return [
            (slice(top, top + height), slice(left, left + width))
            for top, left in zip(tops, lefts, strict=True)
        ]

    def blend(self, parts: FloatArray, tiles: IntArray, out: FloatArray) -> None:
        """Add weighted tiles (n, V, C, h, w) to the image (V, C, H, W)."""
        height, width = out.shape[-2:]
        for part, tile in zip(parts, tiles, strict=True):
            row, col = divmod(int(tile), len(self.cols.starts))
            top, left = int(self.rows.starts[row]), int(self.cols.starts[col])
            rows = slice(max(-top, 0), min(height - top, self.size[0]))
            cols = slice(max(-left, 0), min(width - left, self.size[1]))
            weight = self.rows.weights[row, rows, None] * self.cols.weights[col, cols]
            target = out[
                ..., top + rows.start : top + rows.stop, left + cols.start : left + cols.stop
            ]
            target += part[..., rows, cols] * weight

    def groups(self, count: int) -> Iterator[IntArray]:
        """Tiles in groups of similar work: neighbours are in different groups."""
        for first in range(min(count, len(self))):
            yield np.arange(first, len(self), count)


class WindowBlur:
    """Blurs windows with kernels (P, V, Ky, Kx)."""

    def __init__(self, kernels: FloatArray) -> None:
        self._kernels = kernels
        self.margin = (kernels.shape[-2] // 2, kernels.shape[-1] // 2)
        self.views = kernels.shape[1]

    def __call__(self, windows: FloatArray, kernels: IntArray) -> FloatArray:
        """Blur windows (n, C, h, w) with their kernels, without the margin: (n, V, C, h', w')."""
        top, left = self.margin
        if top == left == 0:
            return np.broadcast_to(windows[:, None], (len(windows), self.views, *windows.shape[1:]))
        height, width = windows.shape[-2:]
        fft_px = fft.next_fast_len(height, real=True), fft.next_fast_len(width, real=True)
        one_kernel = len(self._kernels) == 1
        used = self._kernels if one_kernel else self._kernels[kernels]
        product = _spectrum(used, fft_px)[:, :, None] * _spectrum(windows, fft_px)[:, None]
        # The kernel starts at the origin, so wrap-around only affects pixels before this part.
        columns = fft.ifft(product, axis=-2, overwrite_x=True)[..., 2 * top : height, :]
        blurred: FloatArray = fft.irfft(columns, fft_px[1], axis=-1)[..., 2 * left : width]
        return blurred


def _spectrum(planes: FloatArray, fft_px: tuple[int, int]) -> npt.NDArray[np.complex64]:
    """Fourier transforms of planes, zero-padded to this size; skips empty rows."""
    rows = fft.rfft(planes, fft_px[1], axis=-1)
    spectrum: npt.NDArray[np.complex64] = fft.fft(rows, fft_px[0], axis=-2, overwrite_x=True)
    return spectrum


def _free_edges(side: int) -> tuple[int, ...]:
    parts = -(-side // FREE_TILE_PX)
    return tuple(round(side * part / parts) for part in range(parts + 1))
