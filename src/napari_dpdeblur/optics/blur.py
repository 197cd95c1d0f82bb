"""TiledBlur: spatially varying convolution by FFT, and its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.kernels import KernelGrid


@dataclass(frozen=True)
class TileLayout:
    """Where the tiles of a kernel grid lie in an image, as pixel edges of rows and columns."""

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


def _even_edges(length: int, parts: int) -> tuple[int, ...]:
    return tuple(round(length * i / parts) for i in range(parts + 1))


def _crop_edges(edges: Sequence[int], start: int, length: int) -> tuple[tuple[int, ...], list[int]]:
    stop = start + length
    kept = [i for i in range(len(edges) - 1) if edges[i + 1] > start and edges[i] < stop]
    inner = [edges[i + 1] - start for i in kept[:-1]]
    return (0, *inner, length), kept


@dataclass(frozen=True)
class _Axis:
    """Windows of one image axis: where they start, how large they are, how they are blended."""

    length: int
    starts: tuple[int, ...]
    window: int
    weights: Tensor  # (tiles, window), sums to 1 over the tiles at every pixel

    @classmethod
    def of(cls, edges: Sequence[int], blend: int, like: Tensor) -> _Axis:
        narrowest = min(b - a for a, b in zip(edges[:-1], edges[1:], strict=True))
        margin = min(blend, narrowest) // 2
        window = max(b - a for a, b in zip(edges[:-1], edges[1:], strict=True)) + 2 * margin
        starts = tuple(edge - margin for edge in edges[:-1])
        ramps = [
            _tile_weight(edges, tile, margin, start, window) for tile, start in enumerate(starts)
        ]
        weights = torch.tensor(ramps, device=like.device, dtype=like.dtype)
        return cls(edges[-1], starts, window, weights)

    def padding(self, kernel: int, fft: int) -> tuple[int, int]:
        """Pixels to add before and after, so that every FFT window lies inside."""
        before = kernel // 2 - self.starts[0]
        after = self.starts[-1] - kernel // 2 + fft - self.length
        return before, max(after, kernel // 2)

    def covered(self, tile: int) -> tuple[slice, slice]:
        """The part of a tile's window that lies in the image: in the image, in the window."""
        start = self.starts[tile]
        low, high = max(start, 0), min(start + self.window, self.length)
        return slice(low, high), slice(low - start, high - start)


def _tile_weight(
    edges: Sequence[int], tile: int, margin: int, start: int, window: int
) -> list[float]:
    """Weight of a tile along one axis: 1 inside, linear across a band around inner edges."""
    low, high = edges[tile], edges[tile + 1]
    first, last = tile == 0, tile == len(edges) - 2

    def ramp(distance: float) -> float:
        if margin == 0:
            return float(distance > 0)
        return min(max(0.5 + distance / (2 * margin), 0.0), 1.0)

    def weight(pixel: int) -> float:
        if not 0 <= pixel < edges[-1]:
            return 0.0
        entering = 1.0 if first else ramp(pixel + 0.5 - low)
        leaving = 1.0 if last else ramp(high - pixel - 0.5)
        return min(entering, leaving)

    return [weight(start + i) for i in range(window)]


class TiledBlur:
    """Blur layers with a different kernel in each tile of the image, for both views at once.

    The image is edge-replicated, each tile's surroundings are convolved with the tile's kernel,
    and the results are selected by the *output* pixel's tile (``blend_px=0``, as published) or
    blended linearly across a band of ``blend_px`` around the tile borders, which removes the
    seams. A linear operator with :meth:`adjoint`; differentiable.
    """

    def __init__(
        self, layer_kernels: Sequence[KernelGrid], layout: TileLayout, blend_px: int = 32
    ) -> None:
        for grid in layer_kernels:
            if (grid.rows, grid.cols) != (layout.rows, layout.cols):
                raise CalibrationError(
                    f"The kernel grid has {grid.rows} x {grid.cols} tiles, but the image is "
                    f"divided into {layout.rows} x {layout.cols}."
                )
        self.layout = layout
        self.blend_px = blend_px
        like = layer_kernels[0].kernels
        self._rows = _Axis.of(layout.row_edges, blend_px, like)
        self._cols = _Axis.of(layout.col_edges, blend_px, like)
        self._layers = [
            _LayerSpectrum.of(g, self._rows.window, self._cols.window) for g in layer_kernels
        ]

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, layers: slice) -> TiledBlur:
        """The blur of a run of layers; shares all memory with this one."""
        part = object.__new__(TiledBlur)
        part.__dict__.update(self.__dict__, _layers=self._layers[layers])
        return part

    def __call__(self, layers: Tensor) -> Tensor:
        """Blur layers of shape (L, C, H, W) into views of shape (L, V, C, H, W)."""
        blurred: Tensor = _Apply.apply(layers, self._blur, self._adjoint)
        return blurred

    def adjoint(self, views: Tensor) -> Tensor:
        """The transposed operator: (L, V, C, H, W) to (L, C, H, W)."""
        gathered: Tensor = _Apply.apply(views, self._adjoint, self._blur)
        return gathered

    def _blur(self, layers: Tensor) -> Tensor:
        views = self._layers[0].spectrum.shape[1]
        out = layers.new_zeros(len(self), views, *layers.shape[1:])
        for spectrum, layer, result in zip(self._layers, layers, out, strict=True):
            self._scatter(spectrum.blur(self._gather(layer, spectrum)), result)
        return out

    def _adjoint(self, views: Tensor) -> Tensor:
        out = views.new_empty(len(self), *views.shape[2:])
        for i, (spectrum, view) in enumerate(zip(self._layers, views, strict=True)):
            out[i] = self._gather_adjoint(spectrum.adjoint(self._scatter_adjoint(view)), spectrum)
        return out

    def _tiles(self) -> list[tuple[int, int]]:
        return [(r, c) for r in range(self.layout.rows) for c in range(self.layout.cols)]

    def _padding(self, spectrum: _LayerSpectrum) -> tuple[int, int, int, int]:
        """(left, right, top, bottom), the order of torch.nn.functional.pad."""
        left, right = self._cols.padding(spectrum.kernel_px[1], spectrum.fft_px[1])
        top, bottom = self._rows.padding(spectrum.kernel_px[0], spectrum.fft_px[0])
        return left, right, top, bottom

    def _windows(self, padded: Tensor, spectrum: _LayerSpectrum) -> list[Tensor]:
        height, width = spectrum.fft_px
        row0, col0 = self._rows.starts[0], self._cols.starts[0]
        return [
            padded[..., y - row0 : y - row0 + height, x - col0 : x - col0 + width]
            for y in self._rows.starts
            for x in self._cols.starts
        ]

    def _gather(self, layer: Tensor, spectrum: _LayerSpectrum) -> Tensor:
        """Cut the edge-replicated image (C, H, W) into FFT windows (P, C, n, m)."""
        padded = torch.nn.functional.pad(layer[None], self._padding(spectrum), mode="replicate")[0]
        return torch.stack(self._windows(padded, spectrum))

    def _gather_adjoint(self, windows: Tensor, spectrum: _LayerSpectrum) -> Tensor:
        """Add windows (P, C, n, m) up and fold the replicated border back: (C, H, W)."""
        left, right, top, bottom = self._padding(spectrum)
        height, width = self.layout.shape
        padded = windows.new_zeros(windows.shape[1], top + height + bottom, left + width + right)
        for target, window in zip(self._windows(padded, spectrum), windows, strict=True):
            target += window
        padded[:, top] += padded[:, :top].sum(1)
        padded[:, top + height - 1] += padded[:, top + height :].sum(1)
        rows = padded[:, top : top + height]
        rows[..., left] += rows[..., :left].sum(-1)
        rows[..., left + width - 1] += rows[..., left + width :].sum(-1)
        return rows[..., left : left + width]

    def _scatter(self, tiles: Tensor, out: Tensor) -> None:
        """Blend tile results (P, V, C, h, w) into views (V, C, H, W)."""
        for tile, (row, col) in zip(tiles, self._tiles(), strict=True):
            rows, tile_rows = self._rows.covered(row)
            cols, tile_cols = self._cols.covered(col)
            part = tile[..., tile_rows, tile_cols]
            if self.blend_px == 0:
                self._select(part, out, row, col)
            else:
                weight = self._weight(row, col)[tile_rows, tile_cols]
                out[..., rows, cols].addcmul_(part, weight)

    def _select(self, part: Tensor, out: Tensor, row: int, col: int) -> None:
        rows = slice(*self.layout.row_edges[row : row + 2])
        cols = slice(*self.layout.col_edges[col : col + 2])
        target = out[..., rows, cols]
        target.copy_(part[..., : target.shape[-2], : target.shape[-1]])

    def _scatter_adjoint(self, view: Tensor) -> Tensor:
        """Weighted tile windows (P, V, C, h, w) of views (V, C, H, W)."""
        size = (self._rows.window, self._cols.window)
        tiles = view.new_zeros(len(self._tiles()), *view.shape[:2], *size)
        for tile, (row, col) in zip(tiles, self._tiles(), strict=True):
            rows, tile_rows = self._rows.covered(row)
            cols, tile_cols = self._cols.covered(col)
            weight = self._weight(row, col)[tile_rows, tile_cols]
            torch.mul(view[..., rows, cols], weight, out=tile[..., tile_rows, tile_cols])
        return tiles

    def _weight(self, row: int, col: int) -> Tensor:
        return self._rows.weights[row][:, None] * self._cols.weights[col]


@dataclass(frozen=True)
class _LayerSpectrum:
    """Fourier transforms of one layer's kernels, and convolution of windows with them."""

    spectrum: Tensor  # (P, V, n, m // 2 + 1), complex
    kernel_px: tuple[int, int]
    fft_px: tuple[int, int]

    @classmethod
    def of(cls, grid: KernelGrid, window_rows: int, window_cols: int) -> _LayerSpectrum:
        height, width = grid.size_px
        fft_px = (_fast_length(window_rows + height - 1), _fast_length(window_cols + width - 1))
        return cls(torch.fft.rfft2(grid.kernels, s=fft_px), (height, width), fft_px)

    def blur(self, windows: Tensor) -> Tensor:
        """Windows (P, C, n, m) convolved for each view, the valid part: (P, V, C, h, w)."""
        product = torch.fft.rfft2(windows)[:, None] * self.spectrum[:, :, None]
        full = torch.fft.irfft2(product, s=self.fft_px)
        return full[..., self.kernel_px[0] - 1 :, self.kernel_px[1] - 1 :]

    def adjoint(self, tiles: Tensor) -> Tensor:
        """Tile results (P, V, C, h, w) correlated and summed over the views: (P, C, n, m)."""
        top, left = self.kernel_px[0] - 1, self.kernel_px[1] - 1
        bottom = self.fft_px[0] - top - tiles.shape[-2]
        right = self.fft_px[1] - left - tiles.shape[-1]
        placed = torch.nn.functional.pad(tiles, (left, right, top, bottom))
        product = torch.fft.rfft2(placed) * self.spectrum[:, :, None].conj()
        return torch.fft.irfft2(product.sum(1), s=self.fft_px)


@lru_cache(maxsize=512)
def _fast_length(length: int) -> int:
    return int(next_fast_len(length, real=True))


class _Apply(torch.autograd.Function):
    """A linear operator whose gradient is its adjoint, and the other way round."""

    @staticmethod
    def forward(
        ctx: Any,
        data: Tensor,
        operator: Callable[[Tensor], Tensor],
        adjoint: Callable[[Tensor], Tensor],
    ) -> Tensor:
        ctx.pair = (adjoint, operator)
        return operator(data)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        return _Apply.apply(grad, *ctx.pair), None, None
