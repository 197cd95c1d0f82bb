"""Render layers that have their own defocus in every pixel, and the adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.computing.cores import in_order
from napari_dpdeblur.fitting.image.filters import box_mean
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers
from napari_dpdeblur.optics.mpi import visibility
from napari_dpdeblur.optics.planes import layer_planes
from napari_dpdeblur.optics.summed_blur import SummedBlur

MIN_LAYERS = 3  # so many occupy two cores; of fewer, the cores share the tiles


class SurfaceRenderer:
    """Both views as a linear function of the colours of all layers (Eq. 2).

    A layer whose defocus varies is divided between planes ``plane_step`` apart, with linear
    weights: its light is the sum of theirs, because a surface does not occlude itself.
    """

    def __init__(
        self,
        problem: FitProblem,
        layers: SurfaceLayers,
        plane_step: float,
        blend_px: int,
        negligible_light: float,
    ) -> None:
        self._weights: list[Tensor] = []  # (Q, 1, h, w) of each layer
        self._blurs: list[SummedBlur] = []
        reached: list[Tensor] = []  # (Q, h, w), about the light of each plane
        for alpha, defocus, scale in zip(layers.alpha, layers.defocus, layers.scales, strict=True):
            planes = layer_planes(alpha, defocus, float(scale), plane_step)
            kernels = [problem.kernels_at(plane.scale) for plane in planes]
            blurred = [
                box_mean(plane.weight[0], grid.reach_px)
                for plane, grid in zip(planes, kernels, strict=True)
            ]
            reached.append(torch.stack(blurred))
            is_lit = problem.layout.largest(reached[-1], blend_px) > negligible_light
            self._weights.append(torch.stack([plane.weight for plane in planes]))
            self._blurs.append(SummedBlur(kernels, problem.layout, blend_px, is_lit.tolist()))
            check_cancelled()
        light = [blur(w) for blur, w in zip(self._blurs, self._weights, strict=True)]
        self._free: Tensor = visibility(torch.stack(light))
        for index, free in enumerate(self._free.amax((1, 2))):
            is_seen = problem.layout.largest(reached[index] * free, blend_px) > negligible_light
            self._blurs[index] = self._blurs[index].restricted(is_seen.tolist())

    def render(self, color: Tensor) -> Tensor:
        """Views (V, C, h, w) of layers with colours (L, C, h, w)."""
        views = color.new_zeros(self._free.shape[1], *color.shape[1:])

        def light(k: int) -> Tensor:
            return self._blurs[k](self._weights[k] * color[k]).mul_(self._free[k])

        for seen in self._each(light):
            views += seen
        return views

    def adjoint(self, views: Tensor) -> Tensor:
        """The transposed operator: (V, C, h, w) to (L, C, h, w)."""

        def light(k: int) -> Tensor:
            planes = self._blurs[k].adjoint(views * self._free[k], len(self._weights[k]))
            return planes.mul_(self._weights[k]).sum(0)

        return torch.stack(list(self._each(light)))

    def _each(self, compute: Callable[[int], Tensor]) -> Iterator[Tensor]:
        """What ``compute`` returns for each layer, several at a time."""
        device = self._free.device if len(self._blurs) >= MIN_LAYERS else None
        return in_order(compute, range(len(self._blurs)), device)
