"""Calibrate a camera from captures of the calibration target and of white sheets."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.calibration.events import CalibrationClock, CalibrationEvent
from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.calibration.report.thumbnails import detection_thumbnail, diagnostics
from napari_dpdeblur.calibration.solve.kernels import (
    KernelSolution,
    SolveSettings,
    TargetObservations,
    solve_kernels,
)
from napari_dpdeblur.calibration.solve.observations import central_field, gather_observations
from napari_dpdeblur.calibration.solve.radiometry import Screen, screen_views
from napari_dpdeblur.calibration.target.detect import Detection, detect_discs
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.verdict import judge
from napari_dpdeblur.calibration.vignetting import Vignetting, merge_white_sheets
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.capture import DualPixelCapture, merge_captures
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import finish, translated

STILL_PX = 0.15  # smaller shifts are averaged without alignment
MIN_LIGHT = 1e-4  # vignetting is a divisor


@dataclass(frozen=True, eq=False)
class Captures:
    """Captures of the discs (one or a burst), the white and black screen, and white sheets."""

    discs: Sequence[DualPixelCapture]
    white: Sequence[DualPixelCapture]
    black: Sequence[DualPixelCapture]
    sheets: Sequence[DualPixelCapture] = ()


@dataclass(frozen=True)
class Camera:
    """Metadata of the camera that the files do not contain."""

    name: str = "unknown camera"
    focus_distance_m: float | None = None
    captured_on: str | None = None
    lens_constants: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class _Merged:
    """One merged capture of each kind."""

    discs: DualPixelCapture
    white: DualPixelCapture
    black: DualPixelCapture
    vignetting: Vignetting | None


def calibration_events(
    captures: Captures,
    target: Target,
    settings: SolveSettings | None = None,
    camera: Camera | None = None,
    field: Field | None = None,
) -> Generator[CalibrationEvent, None, Calibration]:
    """Run a calibration as a generator that yields events and returns the Calibration.

    ``field`` is the part of the frame to calibrate; None: the central two thirds. Drive it with
    :func:`napari_dpdeblur.cancellation.controlled` to pause or cancel it.
    """
    settings, camera, clock = settings or SolveSettings(), camera or Camera(), CalibrationClock()
    merged = yield from _merge(captures, clock)
    screen, detection = yield from _detected(merged, target, clock)
    frame_shape = (screen.lit.shape[0], screen.lit.shape[1])
    field = field or central_field(frame_shape)
    observations, hidden = gather_observations(screen, detection, target, field, settings.kernel_px)
    yield clock.event("pattern", 1, 1, "sharp pattern rendered")
    solution = yield from _solved(observations, settings, clock)
    notes = _notes(detection, hidden, target, merged.vignetting, frame_shape)
    verdict = judge(detection, screen, solution, settings.rows, settings.cols, notes)
    yield clock.event("verdict", 1, 1, f"verdict: {verdict['grade']}")
    return Calibration(
        solution.kernels,
        settings.rows,
        settings.cols,
        field,
        frame_shape,
        verdict=verdict,
        source=_source(captures, settings, target),
        orientation=merged.discs.orientation,
        diagnostics=diagnostics(screen, detection, solution),
        **_about(camera, merged.vignetting),
    )


def calibrate(
    captures: Captures,
    target: Target,
    settings: SolveSettings | None = None,
    camera: Camera | None = None,
    field: Field | None = None,
    *,
    on_event: Callable[[CalibrationEvent], None] = lambda event: None,
) -> Calibration:
    """Run a calibration and return it; ``on_event`` is called with each event."""
    return finish(calibration_events(captures, target, settings, camera, field), on_event)


def _merge(
    captures: Captures, clock: CalibrationClock
) -> Generator[CalibrationEvent, None, _Merged]:
    """Merge each burst into one capture, and the white sheets into a vignetting map."""
    check_cancelled()
    discs = merge_burst(captures.discs, "discs")
    yield clock.event("merging", 1, 4, "discs")
    white = merge_burst(captures.white, "white screen")
    yield clock.event("merging", 2, 4, "white screen")
    black = merge_burst(captures.black, "black screen")
    yield clock.event("merging", 3, 4, "black screen")
    vignetting = merge_white_sheets(captures.sheets) if captures.sheets else None
    yield clock.event("merging", 4, 4, "white sheets")
    return _Merged(discs, white, black, vignetting)


def _detected(
    merged: _Merged, target: Target, clock: CalibrationClock
) -> Generator[CalibrationEvent, None, tuple[Screen, Detection]]:
    """Normalise the captures to the screen, and detect the discs."""
    screen = screen_views(merged.discs, merged.white, merged.black)
    _check_sheets(merged.vignetting, screen.lit.shape)
    yield clock.event("discs", 1, 2, "captures normalised")
    detection = detect_discs(screen.views.mean(axis=0), target, merged.discs.name)
    found = f"{len(detection.centres)} of {detection.expected} discs found"
    yield clock.event("discs", 2, 2, found, **detection_thumbnail(screen, detection))
    return screen, detection


def merge_burst(captures: Sequence[DualPixelCapture], what: str) -> DualPixelCapture:
    """Merge several captures of the same thing; aligned only if the camera moved."""
    if not captures:
        raise CalibrationError(f"No capture of the {what} was given; at least one is required.")
    return merge_captures(captures, align=what == "discs" and _moved(captures))


def _moved(captures: Sequence[DualPixelCapture]) -> bool:
    """Whether any capture is shifted against the first one, by phase correlation."""
    first, *others = (c.raw.mean(axis=(0, 1)).astype(np.float32) for c in captures)
    if any(other.shape != first.shape for other in others):
        return False  # merging reports the one that differs
    window = cv2.createHanningWindow(first.shape[::-1], cv2.CV_32F)
    shifts = np.array([cv2.phaseCorrelate(first, other, window)[0] for other in others])
    return bool((np.abs(shifts) > STILL_PX).any())


def _check_sheets(vignetting: Vignetting | None, frame_shape: tuple[int, ...]) -> None:
    if vignetting is not None and vignetting.maps.shape[-2:] != frame_shape:
        height, width = vignetting.maps.shape[-2:]
        raise CalibrationError(
            f"The white sheets ({width} x {height} px) and the discs ({frame_shape[1]} x "
            f"{frame_shape[0]} px) have different sizes; use the same camera for both."
        )


def _solved(
    observations: TargetObservations, settings: SolveSettings, clock: CalibrationClock
) -> Generator[CalibrationEvent, None, KernelSolution]:
    def told(counts: tuple[int, int]) -> CalibrationEvent:
        done, total = counts
        return clock.event("kernels", done, total, f"tile {done} of {total}")

    return translated(solve_kernels(observations, settings), told)


def _notes(
    detection: Detection,
    hidden: np.ndarray,
    target: Target,
    vignetting: Vignetting | None,
    frame_shape: tuple[int, int],
) -> list[str]:
    notes = []
    if len(hidden):
        notes.append(f"{len(hidden)} discs are occluded; the area around them was ignored.")
    if _cut_off_everywhere(detection, target, frame_shape):
        notes.append(
            "The pattern extends beyond every image border; the visible discs were identified "
            "by their sizes."
        )
    if vignetting is None:
        notes.append("There is no white sheet, so vignetting is not corrected.")
    else:
        notes += [f"White sheet {n} {why}; ignored." for n, why in vignetting.left_out.items()]
    return notes


def _cut_off_everywhere(detection: Detection, target: Target, frame_shape: tuple[int, int]) -> bool:
    """Whether the screen extends beyond all four image borders."""
    height, width = frame_shape
    middles = [(0, height / 2), (width, height / 2), (width / 2, 0), (width / 2, height)]
    screen = detection.geometry.to_screen(np.array(middles, float))
    return bool(((screen > 0) & (screen < np.array(target.screen_px))).all())


def _about(camera: Camera, vignetting: Vignetting | None) -> dict[str, Any]:
    """Fields of the calibration that describe the camera."""
    return {
        "vignetting": None if vignetting is None else np.maximum(vignetting.maps, MIN_LIGHT),
        "camera": camera.name,
        "focus_distance_m": camera.focus_distance_m,
        "captured_on": camera.captured_on or datetime.date.today().isoformat(),
        "lens_constants": camera.lens_constants,
    }


def _source(captures: Captures, settings: SolveSettings, target: Target) -> dict[str, Any]:
    """Provenance as plain values, ready for JSON."""
    groups = {name: getattr(captures, name) for name in ("discs", "white", "black", "sheets")}
    return {
        "format": "calibration run",
        "captures": {name: [c.name for c in group] for name, group in groups.items()},
        "sha256": {
            name: [digest for c in group for digest in c.source.sha256]
            for name, group in groups.items()
        },
        "settings": settings.model_dump(),
        "target": target.describe(),
    }
