"""Progress and remaining time of a computation in stages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from napari_dpdeblur.cancellation import paused_s

MIN_FRACTION = 0.005  # less progress than this gives no useful estimate of the remaining time


class RemainingTime:
    """Estimator of the remaining time from the finished fraction.

    Speed is measured from the first step on: neither start-up nor work that was restored from a
    checkpoint counts. ``min_s`` is the shortest measurement to base an estimate on.
    """

    def __init__(self, min_s: float = 0.0) -> None:
        self._min_s = min_s
        self._first: tuple[float, float] | None = None

    def estimate_s(self, elapsed_s: float, fraction: float) -> float | None:
        """Seconds that are left; None until they can be estimated."""
        if fraction <= 0:
            return None
        if self._first is None:
            self._first = elapsed_s, fraction
        since_s, done = elapsed_s - self._first[0], fraction - self._first[1]
        is_usable = done > MIN_FRACTION and since_s > self._min_s
        return since_s * (1 - fraction) / done if is_usable else None


@dataclass(frozen=True)
class StageProgress:
    """Progress within a stage and of the whole computation."""

    stage: str
    step: int
    total: int
    fraction: float
    elapsed_s: float
    remaining_s: float | None


class StageClock:
    """Converts steps of stages to progress; time spent paused does not count.

    ``shares`` are the relative durations of the stages, in their order.
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = {stage: share / sum(shares.values()) for stage, share in shares.items()}
        self._start = time.monotonic()
        self._remaining = RemainingTime()
        self._stage_start_s = 0.0
        self.timings_s: dict[str, float] = {}

    def elapsed_s(self) -> float:
        """Seconds of work since the start."""
        return time.monotonic() - self._start - paused_s()

    def end_stage(self, stage: str) -> None:
        """Record how long a stage took."""
        now = self.elapsed_s()
        self.timings_s[stage] = self.timings_s.get(stage, 0.0) + now - self._stage_start_s
        self._stage_start_s = now

    def progress(self, stage: str, step: int, total: int) -> StageProgress:
        """The progress after a step, counted from 1."""
        stages = list(self._shares)
        before = sum(self._shares[name] for name in stages[: stages.index(stage)])
        fraction = min(before + self._shares[stage] * step / max(total, 1), 1.0)
        elapsed = self.elapsed_s()
        remaining = self._remaining.estimate_s(elapsed, fraction)
        return StageProgress(stage, step, total, fraction, elapsed, remaining)
