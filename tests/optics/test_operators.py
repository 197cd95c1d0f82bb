"""Every linear operator of the package is in one registry, which drives the same tests for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout, TileWindows

Kernels = Callable[..., KernelGrid]


@dataclass(frozen=True)
class LinearOperator:
    forward: Callable[[Tensor], Tensor]
    adjoint: Callable[[Tensor], Tensor]
    input_shape: tuple[int, ...]


def _blur(kernels: list[KernelGrid], layout: TileLayout, blend_px: int) -> LinearOperator:
    blur = TiledBlur(kernels, layout, blend_px)
    return LinearOperator(blur, blur.adjoint, (len(kernels), 2, *layout.shape))


def hard_selection(make: Kernels) -> LinearOperator:
    return _blur([make(2, 3, 7), make(2, 3, 3)], TileLayout.regular(24, 30, 2, 3), 0)


def blended(make: Kernels) -> LinearOperator:
    return _blur([make(2, 3, 7), make(2, 3, 3)], TileLayout.regular(24, 30, 2, 3), 6)


def odd_size(make: Kernels) -> LinearOperator:
    return _blur([make(3, 2, 5)], TileLayout.regular(23, 17, 3, 2), 4)


def kernel_larger_than_the_image(make: Kernels) -> LinearOperator:
    return _blur([make(1, 2, 15)], TileLayout.regular(6, 9, 1, 2), 2)


def oblong_kernels(make: Kernels) -> LinearOperator:
    return _blur([make(2, 2, (3, 9))], TileLayout.regular(18, 20, 2, 2), 4)


def cropped(make: Kernels) -> LinearOperator:
    layout, kept = TileLayout.regular(40, 60, 4, 6).crop(7, 13, 17, 26)
    kernels = make(4, 6, 5).select(kept, layout.rows, layout.cols)
    return _blur([kernels], layout, 4)


def one_of_several_layers(make: Kernels) -> LinearOperator:
    blur = TiledBlur([make(2, 2, 7), make(2, 2, 3)], TileLayout.regular(14, 15, 2, 2), 4)
    return LinearOperator(blur[1:2], blur[1:2].adjoint, (1, 2, 14, 15))


def restricted_to_some_tiles(make: Kernels) -> LinearOperator:
    blur = TiledBlur([make(2, 2, 5), make(2, 2, 3)], TileLayout.regular(14, 15, 2, 2), 4)
    part = blur.restricted(torch.tensor([[True, False, False, True], [False] * 4]))
    return LinearOperator(part, part.adjoint, (2, 2, 14, 15))


def _windows() -> TileWindows:
    like = torch.zeros((), dtype=torch.float64)
    return TileWindows.of(TileLayout.regular(13, 17, 2, 3), (2, 3), 4, like)


def cutting_windows(make: Kernels) -> LinearOperator:
    windows = _windows()

    def add_up(tiles: Tensor) -> Tensor:
        padded = windows.empty(tiles.shape[-3], tiles)
        windows.cut_adjoint(tiles, padded)
        return windows.fold(padded)

    return LinearOperator(windows.gather, add_up, (2, 13, 17))


def weighting_windows(make: Kernels) -> LinearOperator:
    windows = _windows()

    def blend(tiles: Tensor) -> Tensor:
        image = tiles.new_zeros(2, 13, 17)
        windows.scatter(tiles, image)
        return image

    return LinearOperator(windows.scatter_adjoint, blend, (2, 13, 17))


REGISTRY = [
    hard_selection,
    blended,
    odd_size,
    kernel_larger_than_the_image,
    oblong_kernels,
    cropped,
    one_of_several_layers,
    restricted_to_some_tiles,
    cutting_windows,
    weighting_windows,
]


@pytest.fixture(params=REGISTRY, ids=lambda entry: entry.__name__)
def operator(request: pytest.FixtureRequest, random_kernels: Kernels) -> LinearOperator:
    made: LinearOperator = request.param(random_kernels)
    return made


def _random(operator: LinearOperator) -> Tensor:
    return torch.randn(operator.input_shape, dtype=torch.float64)


def test_adjoint(operator: LinearOperator) -> None:
    x = _random(operator)
    forward = operator.forward(x)
    y = torch.randn_like(forward)
    left, right = (forward * y).sum(), (x * operator.adjoint(y)).sum()
    assert abs(left - right) <= 1e-10 * torch.linalg.norm(forward) * torch.linalg.norm(y)


def test_linearity(operator: LinearOperator) -> None:
    a, b = _random(operator), _random(operator)
    expected = 2 * operator.forward(a) - 3 * operator.forward(b)
    torch.testing.assert_close(operator.forward(2 * a - 3 * b), expected, rtol=1e-10, atol=1e-10)


def test_the_input_is_not_changed(operator: LinearOperator) -> None:
    x = _random(operator)
    before = x.clone()
    y = operator.forward(x)
    assert torch.equal(x, before)
    after = y.clone()
    operator.adjoint(y)
    assert torch.equal(y, after)
