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

    Next to an occluder, the light of both surfaces mixes as far as the background's blur reaches.
    Deconvolution with the background's kernel would mistake the sharper boundary for an overshoot
    and add a dark or bright rim. So the blur to remove grows from the occluder's at the boundary
    to the background's own at the distance that it reaches.
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
        within = torch.maximum(image, smallest_around(captured, around))
        check_cancelled()
        within = torch.minimum(within, largest_around(captured, around))
        check_cancelled()
        return image + largest_around(self.mask, around) * (within - image)


def find_boundaries(
    problem: FitProblem, defocus_map: Tensor, parameters: OcclusionParameters
) -> OcclusionBoundaries:
    """Boundaries in a map (h, w) of any resolution; the result is on the problem's grid."""
    shape = (problem.views.shape[-2], problem.views.shape[-1])
    pitch = problem.shape[1] / defocus_map.shape[-1]
    slope = pitch / (parameters.reach * problem.kernels.rms_radius_px())
    envelope = lower_envelope(defocus_map, slope)
    lowered = torch.minimum(defocus_map, envelope + parameters.tolerated_step)
    mask = ((defocus_map - lowered) / parameters.full_step).clamp(0, 1)
    return OcclusionBoundaries(resample(lowered, shape), resample(mask, shape))


def lower_envelope(values: Tensor, slope: float) -> Tensor:
    """The largest map (h, w) below ``values`` that rises at most by ``slope`` per pixel."""
    steps = math.ceil(float(values.max() - values.min()) / slope)
    for _ in range(min(steps, sum(values.shape))):
        beside = torch.minimum(smallest_around(values, (1, 0)), smallest_around(values, (0, 1)))
        values = torch.minimum(values, beside + slope)
        check_cancelled()
    return values
