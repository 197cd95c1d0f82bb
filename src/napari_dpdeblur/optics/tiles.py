"""Tiles of an image: layout, FFT windows around them, blending of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from napari_dpdeblur.optics.tile_axis import TileAxis


@dataclass(frozen=True)
class TileLayout:
    """Positions of the tiles of a kernel grid in an image: pixel edges of rows and columns."""

    row_edges: tuple[int, ...]
    col_edges: tuple[int, ...]

    @classmethod
    def regular(cls, height: int, width: int, rows: int, cols: int) -> TileLayout:
        """Tiles of equal size, up to a pixel where the image is not a multiple of the grid."""
        return cls(_even_edges(height, rows), _even_edges(width, cols))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the image."""
        return self.row_edges[-1], self.col_edges[-1]

    @property
    def rows(self) -> int:
        """Number of tile rows."""
        return len(self.row_edges) - 1

    @property
    def cols(self) -> int:
        """Number of tile columns."""
        return len(self.col_edges) - 1

    def crop(self, top: int, left: int, height: int, width: int) -> tuple[TileLayout, list[int]]:
        """Layout of a window of the image, and the row-major indices of the tiles it touches."""
        row_edges, row_tiles = _crop_edges(self.row_edges, top, height)
        col_edges, col_tiles = _crop_edges(self.col_edges, left, width)
        kept = [row * self.cols + col for row in row_tiles for col in col_tiles]
        return TileLayout(row_edges, col_edges), kept

    def largest(self, values: Tensor, blend_px: int) -> Tensor:
        """Largest of the values (L, h, w), at least 0, in each blended tile: (L, tiles)."""
        around = blend_px // 2
        widened = torch.nn.functional.pad(values[:, None], (around,) * 4)[:, 0]
        tiles = [
            widened[:, top : bottom + 2 * around, left : right + 2 * around].amax((-2, -1))
            for top, bottom in pairwise(self.row_edges)
            for left, right in pairwise(self.col_edges)
        ]
        return torch.stack(tiles, dim=1)

    def coarser(self, rows: int, cols: int) -> TileLayout:
        """Layout of the image reduced by integer factors; tiles shrink to at least one pixel."""
        return TileLayout(
            _coarser_edges(self.row_edges, rows), _coarser_edges(self.col_edges, cols)
        )


def _even_edges(length: int, parts: int) -> tuple[int, ...]:
    return tuple(round(length * i / parts) for i in range(parts + 1))


def _crop_edges(edges: Sequence[int], start: int, length: int) -> tuple[tuple[int, ...], list[int]]:
    stop = start + length
    kept = [i for i in range(len(edges) - 1) if edges[i + 1] > start and edges[i] < stop]
    inner = [edges[i + 1] - start for i in kept[:-1]]
    return (0, *inner, length), kept


def _coarser_edges(edges: Sequence[int], factor: int) -> tuple[int, ...]:
    last = -(-edges[-1] // factor)
    inner = [round(edge / factor) for edge in edges[:-1]]
    # a tile of a narrow crop may round away; give it one pixel of its neighbour
    for i in range(1, len(inner)):
        inner[i] = max(inner[i], inner[i - 1] + 1)
    tiles = len(inner)
    return (*(min(edge, last - (tiles - i)) for i, edge in enumerate(inner)), last)


@dataclass(frozen=True)
class BlendedAxis:
    """Windows of one image axis: where they start, how large they are, how they are blended."""

    length: int
    starts: tuple[int, ...]
    window: int
    weights: Tensor  # (tiles, window), sums to 1 over the tiles at every pixel

    @classmethod
    def of(cls, edges: Sequence[int], blend_px: int, like: Tensor) -> BlendedAxis:
        """Windows of the tiles between ``edges``, with the device and precision of ``like``."""
        axis = TileAxis.of(edges, blend_px)
        weights = torch.tensor(axis.weights, device=like.device, dtype=like.dtype)
        return cls(axis.length, axis.starts, axis.window, weights)

    def padding(self, margin: int, fft: int) -> tuple[int, int]:
        """Pixels to add before and after, so that every FFT window lies inside."""
        before = margin - self.starts[0]
        after = self.starts[-1] - margin + fft - self.length
        return before, max(after, margin)

    def covered(self, tile: int) -> tuple[slice, slice]:
        """The part of a tile's window that lies in the image: in the image, in the window."""
        start = self.starts[tile]
        low, high = max(start, 0), min(start + self.window, self.length)
        return slice(low, high), slice(low - start, high - start)


class TileWindows:
    """FFT windows around tiles: cut them from an image, blend filtered ones into an image.

    A window is a tile, half the blending band, and a ``margin`` on all sides that a filter may
    reach into. The image is edge-replicated beyond its borders.
    """

    def __init__(
        self,
        rows: BlendedAxis,
        cols: BlendedAxis,
        margin: tuple[int, int],
        tiles: tuple[int, ...] | None = None,
    ) -> None:
        self._rows, self._cols = rows, cols
        self.margin = margin
        self.tiles = tuple(range(len(rows.starts) * len(cols.starts))) if tiles is None else tiles
        self.fft_px = (
            _fast_length(rows.window + 2 * margin[0]),
            _fast_length(cols.window + 2 * margin[1]),
        )

    @classmethod
    def of(
        cls, layout: TileLayout, margin: tuple[int, int], blend_px: int, like: Tensor
    ) -> TileWindows:
        """Windows of all tiles of a layout, on the device and in the precision of ``like``."""
        rows = BlendedAxis.of(layout.row_edges, blend_px, like)
        return cls(rows, BlendedAxis.of(layout.col_edges, blend_px, like), margin)

    def restricted(self, kept: Sequence[int]) -> TileWindows:
        """Only some of the tiles, by their position in ``tiles``."""
        tiles = tuple(self.tiles[i] for i in kept)
        return TileWindows(self._rows, self._cols, self.margin, tiles)

    def gather(self, image: Tensor) -> Tensor:
        """Cut the edge-replicated image (C, H, W) into FFT windows (P, C, n, m)."""
        return self.cut(self.pad(image))

    def pad(self, image: Tensor) -> Tensor:
        """Replicate the edges of an image (C, H, W) so that all windows lie inside."""
        return torch.nn.functional.pad(image[None], self._padding(), mode="replicate")[0]

    def cut(self, padded: Tensor) -> Tensor:
        """Windows (P, C, n, m) of a padded image."""
        return torch.stack(self.views(padded))

    def empty(self, channels: int, like: Tensor) -> Tensor:
        """A padded image of zeros on the device and in the precision of ``like``."""
        left, right, top, bottom = self._padding()
        height, width = self._rows.length, self._cols.length
        return like.new_zeros(channels, top + height + bottom, left + width + right)

    def cut_adjoint(self, windows: Tensor, padded: Tensor) -> None:
        """Add windows (P, C, n, m) to a padded image."""
        for target, window in zip(self.views(padded), windows, strict=True):
            target += window

    def fold(self, padded: Tensor) -> Tensor:
        """Adjoint of :meth:`pad`: add the replicated border to the edges, in place."""
        left, _, top, _ = self._padding()
        height, width = self._rows.length, self._cols.length
        padded[:, top] += padded[:, :top].sum(1)
        padded[:, top + height - 1] += padded[:, top + height :].sum(1)
        rows = padded[:, top : top + height]
        rows[..., left] += rows[..., :left].sum(-1)
        rows[..., left + width - 1] += rows[..., left + width :].sum(-1)
        return rows[..., left : left + width]

    def scatter(self, windows: Tensor, out: Tensor) -> None:
        """Blend filtered windows (P, ..., n, m) into an image (..., H, W)."""
        for window, (row, col) in zip(windows, self._row_col(), strict=True):
            rows, window_rows = self._rows.covered(row)
            cols, window_cols = self._cols.covered(col)
            weight = self._weight(row, col)[window_rows, window_cols]
            part = self._inner(window)[..., window_rows, window_cols]
            out[..., rows, cols].addcmul_(part, weight)

    def scatter_adjoint(self, image: Tensor) -> Tensor:
        """Weighted windows (P, ..., n, m) of an image (..., H, W), zero in the margin."""
        windows = image.new_zeros(len(self.tiles), *image.shape[:-2], *self.fft_px)
        for window, (row, col) in zip(windows, self._row_col(), strict=True):
            rows, window_rows = self._rows.covered(row)
            cols, window_cols = self._cols.covered(col)
            weight = self._weight(row, col)[window_rows, window_cols]
            target = self._inner(window)[..., window_rows, window_cols]
            torch.mul(image[..., rows, cols], weight, out=target)
        return windows

    def _row_col(self) -> list[tuple[int, int]]:
        return [divmod(tile, len(self._cols.starts)) for tile in self.tiles]

    def _padding(self) -> tuple[int, int, int, int]:
        """(left, right, top, bottom), the order of torch.nn.functional.pad."""
        left, right = self._cols.padding(self.margin[1], self.fft_px[1])
        top, bottom = self._rows.padding(self.margin[0], self.fft_px[0])
        return left, right, top, bottom

    def views(self, padded: Tensor) -> list[Tensor]:
        """The part (..., n, m) of a padded image (..., H, W) that each window is."""
        height, width = self.fft_px
        corners = [
            (
                self._rows.starts[row] - self._rows.starts[0],
                self._cols.starts[col] - self._cols.starts[0],
            )
            for row, col in self._row_col()
        ]
        return [padded[..., y : y + height, x : x + width] for y, x in corners]

    def _inner(self, window: Tensor) -> Tensor:
        """A window without its margin."""
        top, left = self.margin
        return window[..., top : top + self._rows.window, left : left + self._cols.window]

    def _weight(self, row: int, col: int) -> Tensor:
        return self._rows.weights[row][:, None] * self._cols.weights[col]


@lru_cache(maxsize=512)
def _fast_length(length: int) -> int:
    """The next multiple of 8 without a prime factor above 7.

    FFT libraries vectorise over powers of two: 224 takes half the time of 225, and 256 less than
    250.
    """
    candidate = -(-length // 8) * 8
    while _without_small_factors(candidate) > 1:
        candidate += 8
    return candidate


def _without_small_factors(number: int) -> int:
    for prime in (2, 3, 5, 7):
        while number % prime == 0:
            number //= prime
    return number
