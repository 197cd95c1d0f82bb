"""FitContext: input, problem and state that all stages of a fit share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import cv2
import numpy as np
from torch import Tensor

from napari_dpdeblur.array_types import Crop, FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.checkpoint import Checkpoint, FitState
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.problem import FitProblem, reduce_images
from napari_dpdeblur.fitting.report.doubts import Doubt
from napari_dpdeblur.fitting.report.views import ViewCheck
from napari_dpdeblur.fitting.resources import LARGEST_BUDGET_BYTES, all_channels_fit
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.progress import StageClock

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

PREVIEW_PX = 320


@dataclass
class FitContext:
    """One running fit: its input, the problem, the clock, and the state to resume from."""

    capture: DualPixelCapture
    calibration: Calibration
    settings: FitSettings
    crop: Crop | None
    problem: FitProblem
    clock: StageClock
    signature: str
    checkpoint: Checkpoint | None = None
    state: FitState = field(default_factory=FitState)
    notes: list[str] = field(default_factory=list)
    views_look_swapped: bool = False
    noise: float | None = None  # of the views, once it was measured
    view_check: ViewCheck | None = None
    doubts: list[Doubt] = field(default_factory=list)
    is_told: bool = False  # whether an event has carried the doubts
    shown: FloatArray | None = None  # the last complete preview (C, h, w)
    budget_bytes: int = LARGEST_BUDGET_BYTES  # memory that the fit may use
    lazy_layers: bool = False  # whether those of the result are computed when they are used

    def event(
        self,
        stage: str,
        step: int,
        total: int,
        losses: dict[str, float] | None = None,
        image: Tensor | None = None,
        defocus_map: Tensor | None = None,
        ready: Tensor | None = None,
    ) -> FitEvent:
        """Record the losses and make the event, with small copies of the images.

        ``ready`` (1, h, w) is the share of each pixel of an image that is only partly computed:
        the last complete image, at first the mean of the views, shows through.
        """
        check_cancelled()
        if losses:
            self.state.history.append({"stage": stage, "step": step, **losses})
        scale = self.problem.intensity_scale
        doubts = () if self.is_told else tuple(doubt.text for doubt in self.doubts)
        self.is_told = True
        return FitEvent(
            **vars(self.clock.progress(stage, step, total)),
            losses=losses or {},
            all_in_focus=None if image is None else self._preview(image, ready) / scale,
            defocus_map=None if defocus_map is None else _small_copy(defocus_map),
            doubts=doubts,
        )

    def _preview(self, image: Tensor, ready: Tensor | None) -> FloatArray:
        """A small and complete copy (C, h, w) of an image, for which the rest is filled in."""
        small = _small_copy(image)
        if ready is None:
            self.shown = small
            return small
        if self.shown is None:
            self.shown = _small_copy(self.problem.views.mean(0))
        missing = 1 - _small_copy(ready).clip(0, 1)
        return np.asarray(small + missing * _resized(self.shown, small.shape), np.float32)

    def channel_groups(self, problem: FitProblem) -> list[slice]:
        """Channels to deconvolve at once: all, or one by one if all would need much memory."""
        views = problem.views
        channels = views.shape[1]
        if all_channels_fit(views.numel(), self.budget_bytes):
            return [slice(channels)]
        return [slice(channel, channel + 1) for channel in range(channels)]

    def save(self, stage: str, steps: int, **tensors: Tensor) -> None:
        """Save tensors as the state after a number of steps of a stage."""
        self.state = replace(
            self.state,
            tensors={**self.state.tensors, **tensors},
            steps={**self.state.steps, stage: steps},
        )
        if self.checkpoint is not None:
            self.checkpoint.save(self.signature, self.state)

    def done(self, stage: str) -> int:
        """Finished steps of a stage."""
        return self.state.steps.get(stage, 0)


def _resized(images: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Images (C, h, w) on the grid of an array of this shape."""
    if images.shape == shape:
        return images
    size = (shape[-1], shape[-2])
    return np.stack([cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in images])


def _small_copy(images: Tensor) -> FloatArray:
    """A copy on the CPU of images (..., h, w), reduced to at most PREVIEW_PX columns or rows."""
    factor = max(1, -(-max(images.shape[-2:]) // PREVIEW_PX))
    small = reduce_images(images.detach(), factor, factor).float().cpu().numpy()
    return np.array(small, np.float32)
