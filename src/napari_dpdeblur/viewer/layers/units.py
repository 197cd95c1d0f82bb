"""Defocus in words: as a scale, as the width of the blur in pixels, or as a distance in metres."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.distance import distance_m

DEFOCUS, BLUR, DISTANCE = "Defocus scale", "Blur (px)", "Distance (m)"
UNITS = (DEFOCUS, BLUR, DISTANCE)
FOCUSED = "in focus"
IN_FOCUS = 0.02  # blur that nobody sees: a quarter of a pixel for kernels of 12 px
_widths: WeakKeyDictionary[Calibration, float] = WeakKeyDictionary()


def side_text(defocus: float) -> str:
    """A defocus scale as its amount and its side of the focus plane."""
    if abs(defocus) < IN_FOCUS:
        return FOCUSED
    return f"{abs(defocus):.2f} {_side(defocus)}"


def _side(defocus: float) -> str:
    return "behind" if defocus > 0 else "in front"


def blur_width_px(calibration: Calibration) -> float:
    """Diameter of the disc that blurs as the mean calibrated kernel does, at defocus scale 1.

    A disc of diameter D has an RMS radius of D / sqrt(8).
    """
    if calibration not in _widths:
        kernels = np.asarray(calibration.kernels, np.float64).mean(axis=1)  # (P, K, K)
        kernels = kernels / kernels.sum(axis=(1, 2), keepdims=True)
        offset = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
        squares = np.zeros(len(kernels))
        for axis in (1, 2):
            profile = kernels.sum(axis=axis)
            mean = profile @ offset
            squares += profile @ offset**2 - mean**2
        _widths[calibration] = float(np.sqrt(8 * squares.mean()))
    return _widths[calibration]


@dataclass(frozen=True)
class DefocusUnit:
    """How defocus is read: ``blur_px`` at scale 1, and the constants A, B of d = A + B / Z."""

    name: str = DEFOCUS
    blur_px: float | None = None
    constants: tuple[float, float] | None = None

    @property
    def is_known(self) -> bool:
        """Whether what the unit needs is known."""
        needs = {DEFOCUS: 1.0, BLUR: self.blur_px, DISTANCE: self.constants}
        return needs[self.name] is not None

    def short(self, defocus: float) -> str:
        """A value beside a colour bar."""
        if self.name == DISTANCE and self.constants is not None:
            return self.distance(defocus)
        if self.name == BLUR and self.blur_px is not None and abs(defocus) >= IN_FOCUS:
            return f"{abs(defocus) * self.blur_px:.1f} px {_side(defocus)}"
        return side_text(defocus)

    def sentence(self, defocus: float) -> str:
        """A value in full: amount, side of the focus plane, and distance where it is known."""
        side = "at" if abs(defocus) < IN_FOCUS else _side(defocus)
        side = {"in front": "in front of", "behind": "behind"}.get(side, side)
        if self.name == DISTANCE and self.constants is not None:
            return f"Distance {self.distance(defocus)}, {side} the focus plane"
        amount = self.short(defocus)
        word = "Blur" if self.name == BLUR and self.blur_px is not None else "Defocus"
        text = amount.capitalize() if amount == FOCUSED else f"{word} {amount}"
        known = self.distance(defocus)
        return f"{text}, distance {known}" if known else text

    def distance(self, defocus: float) -> str:
        """The distance of a defocus scale; empty if the lens constants are not known."""
        if self.constants is None:
            return ""
        metres = float(distance_m(defocus, self.constants))
        return f"{metres:.3g} m" if np.isfinite(metres) else "infinitely far"
