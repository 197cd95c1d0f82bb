"""What a fit tells while it runs, and what it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.optics import MultiplaneImage

FloatArray = npt.NDArray[np.float32]
MIN_FRACTION = 0.005  # before that, a remaining time would be a guess


@dataclass(frozen=True)
class FitEvent:
    """One step of a fit.

    ``fraction`` is the share of the whole fit that is done; ``remaining_s`` is None until it can
    be estimated. Previews are downsampled copies on the CPU, in the capture's unit and in defocus
    scales, or None where there is nothing new to see.
    """

    stage: str
    step: int
    total: int
    fraction: float
    elapsed_s: float
    remaining_s: float | None
    losses: dict[str, float] = field(default_factory=dict)
    all_in_focus: FloatArray | None = None  # (C, h, w)
    defocus_map: FloatArray | None = None  # (h, w)


@dataclass(frozen=True)
class FitResult:
    """What a fit found: images in the capture's unit, defocus in multiples of the calibrated blur.

    The arrays and the multiplane image are on the CPU, at the size of the calibrated field.
    """

    mpi: MultiplaneImage
    all_in_focus: FloatArray  # (C, H, W)
    defocus_map: FloatArray  # (H, W)
    confidence: FloatArray  # (H, W), 0 to 1
    captured: FloatArray  # (C, H, W), mean of the corrected views
    loss_history: list[dict[str, Any]]
    provenance: dict[str, Any]

    @property
    def defocus_scales(self) -> FloatArray:
        """Defocus scale of each layer, back to front: (L,)."""
        return self.mpi.defocus_scales.numpy()

    @property
    def transmittance(self) -> FloatArray:
        """Share of each layer in each pixel, back to front: (L, 1, H, W)."""
        return self.mpi.transmittance().numpy()


class Clock:
    """Turns steps of stages into events with fraction, elapsed and remaining time.

    ``shares`` are the parts of the whole that the stages take, in their order; ``waited_s`` tells
    how long the fit has been paused.
    """

    def __init__(
        self, shares: dict[str, float], waited_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._shares = {stage: share / sum(shares.values()) for stage, share in shares.items()}
        self._waited_s = waited_s
        self._start = time.monotonic()
        self.timings_s: dict[str, float] = {}
        self._stage_start_s = 0.0
        self._first: tuple[float, float] | None = None

    def elapsed_s(self) -> float:
        """Seconds of work since the fit began."""
        return time.monotonic() - self._start - self._waited_s()

    def end_stage(self, stage: str) -> None:
        """Keep the time that a stage took."""
        now = self.elapsed_s()
        self.timings_s[stage] = self.timings_s.get(stage, 0.0) + now - self._stage_start_s
        self._stage_start_s = now

    def event(self, stage: str, step: int, total: int, **content: Any) -> FitEvent:
        """The event of a step, counted from 1."""
        stages = list(self._shares)
        before = sum(self._shares[name] for name in stages[: stages.index(stage)])
        fraction = min(before + self._shares[stage] * step / max(total, 1), 1.0)
        elapsed = self.elapsed_s()
        remaining = self._remaining_s(elapsed, fraction)
        return FitEvent(stage, step, total, fraction, elapsed, remaining, **content)

    def _remaining_s(self, elapsed_s: float, fraction: float) -> float | None:
        """Counted from the first step, so that what an earlier run has done is no speed."""
        if self._first is None:
            self._first = elapsed_s, fraction
        since_s, done = elapsed_s - self._first[0], fraction - self._first[1]
        return since_s * (1 - fraction) / done if done > MIN_FRACTION else None
