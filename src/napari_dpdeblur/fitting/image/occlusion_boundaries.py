"""Care along the outlines of what is in front: how far the background can be deblurred there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import largest_around, smallest_around
from napari_dpdeblur.fitting.problem import FitProblem, resample

TOLERATED_STEP = 0.1  # steps of the map up to this size are surfaces, not outlines
REACH = 4.5  # how far a blur of scale 1 carries light that matters, in rms radii of its kernel
FULL_CARE_STEP = 0.05  # lowering of the map from which on a pixel counts as beside an outline
RANGE_PX = 8  # neighbourhood whose captured range limits the image there, in calibrated pixels


@dataclass(frozen=True)
class OutlineCare:
    """A map (h, w) to deblur with, and how much care (h, w; 0 to 1) each pixel needs.

    Beside something in front, the light of both surfaces mixes as far as the background's blur
    reaches. Deconvolution with the background's kernel would take the sharper outline for an
    overshoot and answer it with a dark or bright rim. So the blur that is taken back grows from
    the front's at the outline to the background's own as far away as that reaches.
    """

    defocus_map: Tensor
    care: Tensor

    def limited(
        self,
        image: Tensor,
        captured: Tensor,
        around: tuple[int, int],
    ) -> Tensor:
        """The image (C, h, w), beside outlines within what was captured ``around`` (rows, cols).

        A little farther than the care itself: where it ends, a line would remain.
        """
        within = torch.maximum(image, smallest_around(captured, around))
        check_cancelled()
        within = torch.minimum(within, largest_around(captured, around))
        check_cancelled()
        return image + largest_around(self.care, around) * (within - image)


def outline_care(problem: FitProblem, defocus_map: Tensor) -> OutlineCare:
    """Find the outlines of a map (h, w) of any resolution; the result is on the problem's grid."""
    shape = (problem.views.shape[-2], problem.views.shape[-1])
    pitch = problem.shape[1] / defocus_map.shape[-1]
    slope = pitch / (REACH * problem.kernels.rms_radius_px())
    envelope = lower_envelope(defocus_map, slope)
    lowered = torch.minimum(defocus_map, envelope + TOLERATED_STEP)
    care = ((defocus_map - lowered) / FULL_CARE_STEP).clamp(0, 1)
    return OutlineCare(resample(lowered, shape), resample(care, shape))


def lower_envelope(values: Tensor, slope: float) -> Tensor:
    """The largest map (h, w) below ``values`` that rises at most by ``slope`` per pixel."""
    steps = math.ceil(float(values.max() - values.min()) / slope)
    for _ in range(min(steps, sum(values.shape))):
        beside = torch.minimum(smallest_around(values, (1, 0)), smallest_around(values, (0, 1)))
        values = torch.minimum(values, beside + slope)
        check_cancelled()
    return values
