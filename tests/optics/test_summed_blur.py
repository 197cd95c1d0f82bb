"""SummedBlur against a TiledBlur of each plane."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.optics import DefocusedKernels, KernelGrid, TiledBlur, TileLayout
from napari_dpdeblur.optics.summed_blur import SummedBlur

LAYOUT = TileLayout.regular(40, 60, 2, 3)
SCALES = (1.0, -0.95, 0.9)  # of equal windows, on which side lobes depend
BLEND_PX = 6
EVERYWHERE = [[True] * 6] * 3
SOME = [
    [True, False, True, False, False, True],
    [False] * 6,
    [True, True, False, False, False, True],
]


@pytest.fixture
def planes() -> list[DefocusedKernels]:
    kernels = torch.rand(6, 2, 7, 7, dtype=torch.float64)
    grid = KernelGrid(kernels / kernels.sum((-2, -1), keepdim=True), 2, 3)
    return [grid.defocused(scale) for scale in SCALES]


def reference(planes: list[DefocusedKernels], active: list[list[bool]], light: Tensor) -> Tensor:
    blur = TiledBlur(planes, LAYOUT, BLEND_PX).restricted(torch.tensor(active))
    return blur(light).sum(0)


@pytest.mark.parametrize("active", [EVERYWHERE, SOME, [[False] * 6] * 3])
def test_agrees_with_the_blur_of_each_plane(
    planes: list[DefocusedKernels], active: list[list[bool]]
) -> None:
    light = torch.rand(3, 2, 40, 60, dtype=torch.float64)
    summed = SummedBlur(planes, LAYOUT, BLEND_PX, active)
    torch.testing.assert_close(summed(light), reference(planes, active, light))
    narrowed = SummedBlur(planes, LAYOUT, BLEND_PX, EVERYWHERE).restricted(active)
    torch.testing.assert_close(narrowed(light), reference(planes, active, light))


@pytest.mark.parametrize("active", [EVERYWHERE, SOME])
def test_adjoint(planes: list[DefocusedKernels], active: list[list[bool]]) -> None:
    summed = SummedBlur(planes, LAYOUT, BLEND_PX, active)
    light = torch.rand(3, 2, 40, 60, dtype=torch.float64)
    views = torch.rand(2, 2, 40, 60, dtype=torch.float64)
    forwards = (summed(light) * views).sum()
    torch.testing.assert_close((light * summed.adjoint(views, 3)).sum(), forwards)
