"""Vignetting of both views from captures of a white sheet, rejecting bad ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.calibration.solve.radiometry import linear_views
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError

MIN_LEVEL, MAX_LEVEL = 0.02, 0.95  # of white, in the brightest part
MAX_CLIPPED = 0.001
# A sheet that moved or was shaded changes the illumination by more than this.
MAX_DEVIATION = 0.04
COMPARED_PX = 32  # cells large enough to average out noise
SMOOTHING_PX = 1.5


@dataclass(frozen=True, eq=False)
class Vignetting:
    """``maps`` (2, H, W) float32, square pixels; names used, and reasons of rejected captures."""

    maps: np.ndarray
    used: tuple[str, ...]
    left_out: dict[str, str]


def merge_white_sheets(captures: Sequence[DualPixelCapture]) -> Vignetting:
    """Robust mean of white captures, each scaled to the same brightness.

    Saturated and dark captures, and captures whose illumination differs from the others, are
    rejected and reported.
    """
    if not captures:
        raise CalibrationError("No capture of a white sheet was given; at least one is required.")
    left_out = {c.name: reason for c in captures if (reason := _level_problem(c)) is not None}
    usable = [c for c in captures if c.name not in left_out]
    for capture in usable[1:]:
        _check_size(usable[0], capture)
    left_out |= _odd_ones(usable)
    used = [c for c in usable if c.name not in left_out]
    if not used:
        reasons = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise CalibrationError(
            f"No capture of the white sheet is usable: {reasons}; light the sheet evenly and "
            "expose it to about half of white."
        )
    maps = np.mean([_scaled(c) for c in used], axis=0) * np.mean([_brightness(c) for c in used])
    names = tuple(c.name for c in used)
    return Vignetting(_smoothed(maps.astype(np.float32)), names, left_out)


def _brightness(capture: DualPixelCapture) -> float:
    return float(capture.views.mean())


def _scaled(capture: DualPixelCapture) -> np.ndarray:
    return np.asarray(linear_views(capture) / _brightness(capture))


def _smoothed(maps: np.ndarray) -> np.ndarray:
    """Vignetting is smooth, so variation from pixel to pixel is noise."""
    smooth = [
        cv2.GaussianBlur(m, (0, 0), SMOOTHING_PX, borderType=cv2.BORDER_REFLECT) for m in maps
    ]
    return np.stack(smooth)


def _level_problem(capture: DualPixelCapture) -> str | None:
    bright = float(np.percentile(capture.views, 99))
    clipped = float((capture.raw >= MAX_LEVEL * capture.white).mean())
    if clipped > MAX_CLIPPED:
        return f"is saturated in {100 * clipped:.1f} % of its pixels"
    if bright < MIN_LEVEL:
        return f"is too dark (brightest {100 * bright:.1f} % of white)"
    return None


def _check_size(first: DualPixelCapture, other: DualPixelCapture) -> None:
    if first.shape != other.shape:
        raise CalibrationError(
            f"The white sheets {first.name} and {other.name} have different sizes "
            f"({_size(first)} and {_size(other)}); use the same camera for all."
        )


def _size(capture: DualPixelCapture) -> str:
    return f"{capture.shape[3]} x {capture.shape[2]} px"


def _odd_ones(captures: Sequence[DualPixelCapture]) -> dict[str, str]:
    """Captures whose illumination differs from the median; needs at least three."""
    if len(captures) < 3:
        return {}
    shapes = np.stack([_coarse(capture) for capture in captures])
    deviation = np.abs(shapes / np.median(shapes, axis=0) - 1)
    worst = np.percentile(deviation.reshape(len(captures), -1), 95, axis=1)
    return {
        capture.name: f"differs from the others by {100 * value:.0f} % (the sheet moved or was "
        "shaded)"
        for capture, value in zip(captures, worst, strict=True)
        if value > MAX_DEVIATION
    }


def _coarse(capture: DualPixelCapture) -> np.ndarray:
    """Both views averaged over large cells, with median 1."""
    views = linear_views(capture)
    size = [max(1, round(side / COMPARED_PX)) for side in views.shape[:0:-1]]
    shape = np.stack([cv2.resize(view, size, interpolation=cv2.INTER_AREA) for view in views])
    return np.asarray(shape / np.median(shape))
