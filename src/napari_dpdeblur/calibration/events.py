"""Progress events of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.progress import StageClock, StageProgress

# The share of the time that each stage takes, in percent and in the order of the run.
SHARES = {"merging": 15.0, "discs": 8.0, "pattern": 12.0, "kernels": 62.0, "verdict": 3.0}
STAGES = tuple(SHARES)


@dataclass(frozen=True, eq=False)
class CalibrationEvent(StageProgress):
    """One step of a calibration.

    ``stage`` is one of :data:`STAGES`, ``detail`` says what was done. The last event of the stage
    "discs" carries what was detected: ``thumbnail`` (h, w) float32, from 0 (black screen) to 1
    (white screen), and ``discs`` (N, 4) float32: x, y and deviation in pixels of the thumbnail.
    """

    detail: str = ""
    thumbnail: np.ndarray | None = None
    discs: np.ndarray | None = None


class CalibrationClock:
    """Turns steps into events, and raises if the calibration was cancelled."""

    def __init__(self) -> None:
        self._clock = StageClock(SHARES)

    def event(
        self, stage: str, step: int, total: int, detail: str, **content: Any
    ) -> CalibrationEvent:
        """The event after a step, counted from 1."""
        check_cancelled()
        progress = self._clock.progress(stage, step, total)
        return CalibrationEvent(**vars(progress), detail=detail, **content)
