"""TiledBlur: spatially varying convolution by FFT, and its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.computing.memory import in_groups
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.tiles import BlendedAxis, TileLayout, TileWindows

# How many values the FFT windows of one group of tiles may have. On a CPU they should stay in the
# cache of their core, which is two to three times faster than all tiles at once; others need large
# batches.
GROUP_VALUES = {"cpu": 2**18, "other": 2**27}


class LayerKernels(Protocol):
    """Kernels of one layer: a KernelGrid or DefocusedKernels."""

    @property
    def kernels(self) -> Tensor: ...  # noqa: D102
    @property
    def rows(self) -> int: ...  # noqa: D102
    @property
    def cols(self) -> int: ...  # noqa: D102
    @property
    def size_px(self) -> tuple[int, int]: ...  # noqa: D102
    def spectrum(self, fft_px: tuple[int, int]) -> Tensor: ...  # noqa: D102


class TiledBlur:
    """Blur layers with a different kernel in each tile of the image, for both views at once.

    The image is edge-replicated, each tile's surroundings are convolved with the tile's kernel,
    and the results are selected by the *output* pixel's tile (``blend_px=0``, as published) or
    blended linearly across a band of ``blend_px`` around the tile borders, which removes the
    seams. A linear operator with :meth:`adjoint`; differentiable.
    """

    def __init__(
        self,
        layer_kernels: Sequence[LayerKernels],
        layout: TileLayout,
        blend_px: int = 32,
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
        rows = BlendedAxis.of(layout.row_edges, blend_px, like)
        cols = BlendedAxis.of(layout.col_edges, blend_px, like)
        self._layers: list[_LayerBlur] = []
        for grid in layer_kernels:
            self._layers.append(_LayerBlur.of(grid, rows, cols))
            check_cancelled()

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, layers: slice) -> TiledBlur:
        """The blur of a range of layers, sharing memory with this one."""
        return self._with_layers(self._layers[layers])

    def restricted(self, active: Tensor) -> TiledBlur:
        """The same blur where ``active`` (L, P) is true, and zero in the other tiles.

        Most layers of a scene occupy a few tiles; skipping the empty ones saves their FFTs.
        """
        return self._with_layers(
            [
                layer.restricted([i for i, keep in enumerate(tiles) if keep])
                for layer, tiles in zip(self._layers, active.tolist(), strict=True)
            ]
        )

    def __call__(self, layers: Tensor) -> Tensor:
        """Blur layers of shape (L, C, H, W) into views of shape (L, V, C, H, W)."""
        return _apply_linear(layers, self._blur, self._adjoint)

    def adjoint(self, views: Tensor) -> Tensor:
        """The transposed operator: (L, V, C, H, W) to (L, C, H, W)."""
        return _apply_linear(views, self._adjoint, self._blur)

    def _with_layers(self, layers: list[_LayerBlur]) -> TiledBlur:
        part = object.__new__(TiledBlur)
        part.__dict__.update(self.__dict__, _layers=layers)
        return part

    def _blur(self, layers: Tensor) -> Tensor:
        views = self._layers[0].spectrum.shape[1]
        out = layers.new_zeros(len(self), views, *layers.shape[1:])
        for blur, layer, result in zip(self._layers, layers, out, strict=True):
            blur.add_blurred(layer, result)
        return out

    def _adjoint(self, views: Tensor) -> Tensor:
        out = views.new_zeros(len(self), *views.shape[2:])
        for blur, view, result in zip(self._layers, views, out, strict=True):
            blur.add_adjoint(view, result)
        return out


@dataclass(frozen=True)
class _LayerBlur:
    """The blur of one layer: spectra of its kernels (P, V, n, m // 2 + 1) and its windows."""

    spectrum: Tensor
    windows: TileWindows

    @classmethod
    def of(cls, grid: LayerKernels, rows: BlendedAxis, cols: BlendedAxis) -> _LayerBlur:
        height, width = grid.size_px
        windows = TileWindows(rows, cols, (height // 2, width // 2))
        return cls(grid.spectrum(windows.fft_px), windows)

    def restricted(self, kept: list[int]) -> _LayerBlur:
        windows = self.windows.restricted(kept)
        # A list would do, but an empty one has no type.
        index = torch.tensor(kept, dtype=torch.long, device=self.spectrum.device)
        return replace(self, spectrum=self.spectrum[index], windows=windows)

    def add_blurred(self, layer: Tensor, out: Tensor) -> None:
        """Add the blurred layer (C, H, W) to the views ``out`` (V, C, H, W)."""
        if not self.windows.tiles:
            return
        padded = self.windows.pad(layer)

        def blurred(tiles: range) -> Tensor:
            part = self._of(tiles)
            product = torch.fft.rfft2(part.windows.cut(padded))[:, None] * part.spectrum[:, :, None]
            windows: Tensor = torch.fft.irfft2(product, s=part.windows.fft_px)
            return windows

        def add(tiles: range, windows: Tensor) -> None:
            self.windows.restricted(tiles).scatter(windows, out)
            check_cancelled()

        in_groups(len(self.windows.tiles), self._group_size(layer), blurred, add, layer.device)

    def add_adjoint(self, view: Tensor, out: Tensor) -> None:
        """Add the correlation of views (V, C, H, W) to the layer ``out`` (C, H, W)."""
        if not self.windows.tiles:
            return
        padded = self.windows.empty(len(out), view)

        def correlated(tiles: range) -> Tensor:
            part = self._of(tiles)
            placed = torch.fft.rfft2(part.windows.scatter_adjoint(view))
            gathered = placed.mul_(part.spectrum[:, :, None].conj()).sum(1)
            windows: Tensor = torch.fft.irfft2(gathered, s=part.windows.fft_px)
            return windows

        def add(tiles: range, windows: Tensor) -> None:
            self.windows.restricted(tiles).cut_adjoint(windows, padded)
            check_cancelled()

        in_groups(len(self.windows.tiles), self._group_size(out), correlated, add, out.device)
        out += self.windows.fold(padded)

    def _of(self, tiles: range) -> _LayerBlur:
        return _LayerBlur(self.spectrum[tiles.start : tiles.stop], self.windows.restricted(tiles))

    def _group_size(self, layer: Tensor) -> int:
        return group_size(self.windows, layer.shape[0] * self.spectrum.shape[1], layer.device)


def group_size(windows: TileWindows, images: int, device: torch.device) -> int:
    """Number of tiles to process at once, with the windows of so many images each."""
    height, width = windows.fft_px
    values = GROUP_VALUES["cpu" if device.type == "cpu" else "other"]
    return max(values // (height * width * images), 1)


_Operator = Callable[[Tensor], Tensor]


def _apply_linear(data: Tensor, operator: _Operator, adjoint: _Operator) -> Tensor:
    return cast(Tensor, _Linear.apply(data, operator, adjoint))  # type: ignore[no-untyped-call]


class _Linear(torch.autograd.Function):
    """A linear operator whose gradient is its adjoint, and the other way round."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, operator: _Operator, adjoint: _Operator) -> Tensor:
        ctx.pair = (adjoint, operator)
        return operator(data)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _apply_linear(grad, *ctx.pair), None, None
