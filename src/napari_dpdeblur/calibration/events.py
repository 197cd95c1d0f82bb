"""What a calibration tells while it runs, and how it is cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.errors import CalibrationError

# The share of the time that each stage takes, in percent and in the order of the run.
SHARES = {"merging": 15.0, "discs": 8.0, "pattern": 12.0, "kernels": 62.0, "verdict": 3.0}
STAGES = tuple(SHARES)
MIN_FRACTION = 0.02  # before that, a remaining time would be a guess


class CalibrationCancelled(CalibrationError):
    """The calibration was cancelled on request."""


@dataclass(frozen=True, eq=False)
class CalibrationEvent:
    """One step of a calibration.

    ``stage`` is one of :data:`STAGES`, ``step`` of ``total`` counts inside of it, ``detail`` says
    what was done, ``fraction`` is the share of the whole run that is done; ``remaining_s`` is None
    until it can be estimated. The last event of the stage "discs" shows what was found:
    ``thumbnail`` (h, w) float32, the discs between black screen 0 and white screen 1, and
    ``discs`` (N, 4) float32, x, y and deviation in pixels of the thumbnail.
    """

    stage: str
    step: int
    total: int
    detail: str
    fraction: float
    elapsed_s: float
    remaining_s: float | None
    thumbnail: np.ndarray | None = None
    discs: np.ndarray | None = None


class Clock:
    """Turns steps of stages into events, and ends the run when it is cancelled."""

    def __init__(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        self._is_cancelled = is_cancelled
        self._start = time.monotonic()

    def check(self) -> None:
        """Raise CalibrationCancelled when somebody asked for it."""
        if self._is_cancelled():
            raise CalibrationCancelled("The calibration was cancelled; nothing was saved.")

    def event(
        self, stage: str, step: int, total: int, detail: str, **content: Any
    ) -> CalibrationEvent:
        """The event of a step, counted from 1."""
        self.check()
        before = sum(SHARES[name] for name in STAGES[: STAGES.index(stage)])
        done = before + SHARES[stage] * step / max(total, 1)
        fraction = min(done / sum(SHARES.values()), 1.0)
        elapsed = time.monotonic() - self._start
        remaining = elapsed * (1 - fraction) / fraction if fraction > MIN_FRACTION else None
        return CalibrationEvent(stage, step, total, detail, fraction, elapsed, remaining, **content)
