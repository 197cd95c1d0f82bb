"""Occlusion boundaries: how far the background can be deblurred next to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import largest_around, smallest_around
from napari_dpdeblur.fitting.parameters.image import OcclusionParameters
from napari_dpdeblur.fitting.problem import FitProblem, resample


@dataclass(frozen=True)
class OcclusionBoundaries:
    """A map (h, w) to deblur with, and how close to a boundary (h, w; 0 to 1) each pixel is.

    Next to an occluder, the light of both surfaces mixes as far as blur reaches. Behind the focus
    plane it is the background's: deconvolution with its kernel would mistake the sharper boundary
    for an overshoot and add a dark or bright rim. So the blur to remove grows from the occluder's
    at the boundary to the background's own at the distance that it reaches. In front of the focus
    plane it is the occluder's: its blur is removed as far as it reaches beyond the outline.
    """

    defocus_map: Tensor
    mask: Tensor

    def limited(
        self,
        image: Tensor,
        captured: Tensor,
        around: tuple[int, int],
    ) -> Tensor:
        """The image (C, h, w), at boundaries within the range captured ``around`` (rows, cols).

        A little farther than the mask itself: where it ends, a line would remain.
        """
        near = largest_around(self.mask, around)
        limited = torch.empty_like(image)
        for plane, light, out in zip(image, captured, limited, strict=True):  # to save memory
            within = torch.maximum(plane, smallest_around(light, around))
            check_cancelled()
            within = torch.minimum(within, largest_around(light, around))
            check_cancelled()
            out[:] = plane + near * (within - plane)
        return limited


def find_boundaries(
    problem: FitProblem, defocus_map: Tensor, parameters: OcclusionParameters
) -> OcclusionBoundaries:
    """Boundaries in a map (h, w) of any resolution; the result is on the problem's grid."""
    shape = (problem.views.shape[-2], problem.views.shape[-1])
    pitch = problem.shape[1] / defocus_map.shape[-1]
    radius = problem.kernels.rms_radius_px() / pitch
    lowered = _lowered_behind(defocus_map, 1 / (parameters.reach * radius), parameters)
    spread = spread_front(defocus_map, parameters.front_reach * radius, parameters.front_step)
    is_covered = defocus_map - spread > parameters.tolerated_step
    lowered = torch.where(is_covered, spread, lowered)
    mask = ((defocus_map - lowered) / parameters.full_step).clamp(0, 1)
    return OcclusionBoundaries(resample(lowered, shape), resample(mask, shape))


def _lowered_behind(defocus_map: Tensor, slope: float, parameters: OcclusionParameters) -> Tensor:
    """The map, lowered next to occluders that are not in front of the focus plane."""
    is_front = defocus_map < 0
    behind = torch.where(is_front, defocus_map.max(), defocus_map)
    limit = lower_envelope(behind, slope) + parameters.tolerated_step
    return torch.where(is_front, defocus_map, torch.minimum(defocus_map, limit))


def spread_front(defocus_map: Tensor, reach: float, step: float) -> Tensor:
    """The map with what is in front of the focus plane widened by its blur.

    Blur of scale 1 reaches ``reach`` pixels; scales within ``step`` count as equally blurred.
    """
    spread = defocus_map
    for number in range(math.floor(float(defocus_map.min()) / step), 0):
        radius = round(reach * step * abs(number + 0.5))
        layer = (defocus_map >= number * step) & (defocus_map < (number + 1) * step)
        if radius > 0 and bool(layer.any()):
            nearest = torch.where(layer, defocus_map, defocus_map.max())
            spread = torch.minimum(spread, smallest_around(nearest, (radius, radius)))
        check_cancelled()
    return spread


def lower_envelope(values: Tensor, slope: float) -> Tensor:
    """The largest map (h, w) below ``values`` that rises at most by ``slope`` per pixel."""
    steps = math.ceil(float(values.max() - values.min()) / slope)
    for _ in range(min(steps, sum(values.shape))):
        beside = torch.minimum(smallest_around(values, (1, 0)), smallest_around(values, (0, 1)))
        values = torch.minimum(values, beside + slope)
        check_cancelled()
    return values
