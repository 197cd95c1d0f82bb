"""Progress events of a lens estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.progress import StageClock, StageProgress

# The share of the time that each stage takes, in percent and in the order of the run.
SHARES = {"vignetting": 5.0, "disparity": 5.0, "lens": 70.0, "size": 10.0, "verdict": 10.0}
STAGES = tuple(SHARES)


@dataclass(frozen=True, eq=False)
class EstimateEvent(StageProgress):
    """One step of a lens estimate.

    ``stage`` is one of :data:`STAGES`, ``detail`` says what was done. Events of the stage "lens"
    carry the ``loss`` and now and then ``kernels`` (P, 2, K, K) float32: the lens so far.
    """

    detail: str = ""
    loss: float | None = None
    kernels: np.ndarray | None = None


class EstimateClock:
    """Turns steps into events, and raises if the estimate was cancelled."""

    def __init__(self) -> None:
        self._clock = StageClock(SHARES)

    def event(
        self, stage: str, step: int, total: int, detail: str, **content: Any
    ) -> EstimateEvent:
        """The event after a step, counted from 1."""
        check_cancelled()
        progress = self._clock.progress(stage, step, total)
        return EstimateEvent(**vars(progress), detail=detail, **content)
