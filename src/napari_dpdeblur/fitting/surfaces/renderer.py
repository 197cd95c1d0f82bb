"""Render layers that have their own defocus in every pixel, and the adjoint."""

from __future__ import annotations

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers
from napari_dpdeblur.optics import TiledBlur
from napari_dpdeblur.optics.mpi import visibility
from napari_dpdeblur.optics.planes import layer_planes


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
        self._planes = [
            layer_planes(alpha, defocus, float(scale), plane_step)
            for alpha, defocus, scale in zip(
                layers.alpha, layers.defocus, layers.scales, strict=True
            )
        ]
        blurs, light, brightest, lit = [], [], [], []
        for planes in self._planes:
            kernels = [problem.kernels_at(plane.scale) for plane in planes]
            blur = TiledBlur(kernels, problem.layout, blend_px)
            each = blur(torch.stack([plane.weight for plane in planes]))
            light.append(each.sum(0))
            brightest.append(each.amax((1, 2)))
            # Spectra of tiles without any light would fill the memory.
            lit.append(problem.layout.largest(brightest[-1], blend_px) > negligible_light)
            blurs.append(blur.restricted(lit[-1]))
            check_cancelled()
        self._free: Tensor = visibility(torch.stack(light))
        self._blurs = []
        for blur, each, free, tiles in zip(blurs, brightest, self._free, lit, strict=True):
            seen_light = problem.layout.largest(each * free.amax((0, 1)), blend_px)
            is_seen = seen_light > negligible_light
            self._blurs.append(
                blur.restricted([seen[own] for seen, own in zip(is_seen, tiles, strict=True)])
            )
            check_cancelled()

    def render(self, color: Tensor) -> Tensor:
        """Views (V, C, h, w) of layers with colours (L, C, h, w)."""
        views = color.new_zeros(self._free.shape[1], *color.shape[1:])
        for blur, planes, free, layer in zip(
            self._blurs, self._planes, self._free, color, strict=True
        ):
            views += blur(torch.stack([p.weight * layer for p in planes])).sum(0) * free
        return views

    def adjoint(self, views: Tensor) -> Tensor:
        """The transposed operator: (V, C, h, w) to (L, C, h, w)."""
        color = views.new_zeros(len(self._planes), *views.shape[1:])
        for blur, planes, free, layer in zip(
            self._blurs, self._planes, self._free, color, strict=True
        ):
            seen = (views * free)[None].expand(len(planes), *views.shape)
            parts = blur.adjoint(seen.contiguous())
            for plane, part in zip(planes, parts, strict=True):
                layer += plane.weight * part
        return color
