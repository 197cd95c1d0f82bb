"""Find captures of a burst that differ from the others: exposure, ambient light, focus, motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.capture import DualPixelCapture

MIN_SHOTS = 3  # fewer do not tell which one is odd
MAX_BRIGHTNESS_CHANGE = 0.04
# A motion by 2 px changes the sharpness by 0.013 at a blur of 7.5 px; noise and a shift by 0.001.
MAX_SHARPNESS_CHANGE = 0.01
USUAL_SPREADS = 8.0  # of the other captures: what varies from shot to shot is not odd
SMOOTHING_PX = 2.0  # keeps noise out of the gradients


@dataclass(frozen=True)
class _Look:
    """Mean light, and the energy of the gradients along x and y relative to it."""

    brightness: float
    sharpness: tuple[float, float]

    @classmethod
    def of(cls, capture: DualPixelCapture) -> _Look:
        light = capture.raw.mean(axis=(0, 1)).astype(np.float32) - np.float32(capture.black)
        smooth = cv2.GaussianBlur(light, (0, 0), SMOOTHING_PX)
        power = max(float(light.mean()) ** 2, 1e-12)
        energies = [float((np.diff(smooth, axis=axis) ** 2).mean()) / power for axis in (1, 0)]
        return cls(float(light.mean()), (energies[0], energies[1]))


def without_odd_shots(
    discs: Sequence[DualPixelCapture],
) -> tuple[list[DualPixelCapture], list[str]]:
    """The captures that agree, and a note on each of the others.

    All are kept if there are fewer than three, or if they do not agree in their majority.
    """
    same_size = len({capture.shape for capture in discs}) == 1
    if len(discs) < MIN_SHOTS or not same_size:
        return list(discs), []
    looks = [_Look.of(capture) for capture in discs]
    problems = [_problem(look, looks) for look in looks]
    kept = [c for c, problem in zip(discs, problems, strict=True) if problem is None]
    if len(kept) <= len(discs) // 2:
        return list(discs), []
    notes = [
        f"{capture.name} {problem} than the other captures of the discs; it was left out."
        for capture, problem in zip(discs, problems, strict=True)
        if problem is not None
    ]
    return kept, notes


def _problem(look: _Look, looks: Sequence[_Look]) -> str | None:
    """How a capture differs, as the beginning of a comparison; None if it does not."""
    usual = float(np.median([other.brightness for other in looks]))
    change = look.brightness / max(usual, 1e-12) - 1
    if abs(change) > MAX_BRIGHTNESS_CHANGE:
        word = "brighter" if change > 0 else "darker"
        return f"is {100 * abs(change):.0f} % {word} (exposure or ambient light)"
    every = np.array([other.sharpness for other in looks])
    middle = np.maximum(np.median(every, axis=0), 1e-12)
    spread = np.median(np.abs(every / middle - 1), axis=0)
    limit = np.maximum(MAX_SHARPNESS_CHANGE, USUAL_SPREADS * spread)
    changes = np.array(look.sharpness) / middle - 1
    if (changes < -limit).any():
        return "is blurred more (focus, or motion of the camera)"
    return "is blurred less (focus)" if (changes > limit).any() else None
