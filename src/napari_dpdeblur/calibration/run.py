"""From captures of the screen and of white sheets to a calibration with its verdict."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.calibration.calibration import Calibration, Field
from napari_dpdeblur.calibration.detect import Detection, detect_discs
from napari_dpdeblur.calibration.evidence import central_field, gather_evidence
from napari_dpdeblur.calibration.radiometry import Screen, screen_views
from napari_dpdeblur.calibration.solve import Evidence, Solution, SolveSettings, solve_kernels
from napari_dpdeblur.calibration.target import Target
from napari_dpdeblur.calibration.verdict import judge
from napari_dpdeblur.calibration.vignetting import Vignetting, merge_white_sheets
from napari_dpdeblur.capture import DualPixelCapture, merge_captures
from napari_dpdeblur.errors import CalibrationError

Progress = Callable[[str, float], None]
STILL_PX = 0.15  # captures that moved by less are averaged as they are
THUMBNAIL_PX = 640
RESIDUAL_MAP_PX = 168


@dataclass(frozen=True, eq=False)
class Captures:
    """What was photographed: discs (one or a burst), both screens, white sheets (may be none)."""

    discs: Sequence[DualPixelCapture]
    white: Sequence[DualPixelCapture]
    black: Sequence[DualPixelCapture]
    sheets: Sequence[DualPixelCapture] = ()


@dataclass(frozen=True)
class Camera:
    """What the files do not say about the camera."""

    name: str = "unknown camera"
    focus_distance_m: float | None = None
    captured_on: str | None = None
    lens_constants: tuple[float, float] | None = None


def calibrate(
    captures: Captures,
    target: Target,
    settings: SolveSettings = SolveSettings(),  # noqa: B008 (frozen)
    camera: Camera = Camera(),  # noqa: B008 (frozen)
    field: Field | None = None,
    progress: Progress = lambda step, share: None,
) -> Calibration:
    """The whole calibration; ``progress`` hears the step and the share that is done, 0 to 1."""
    progress("merging captures", 0.0)
    discs = merge_burst(captures.discs, "discs")
    white, black = merge_burst(captures.white, "white"), merge_burst(captures.black, "black")
    vignetting = merge_white_sheets(captures.sheets) if captures.sheets else None
    progress("finding discs", 0.15)
    screen = screen_views(discs, white, black)
    frame_shape = (screen.lit.shape[0], screen.lit.shape[1])
    _check_sheets(vignetting, frame_shape)
    detection = detect_discs(screen.views.mean(axis=0), target, discs.name)
    field = field or central_field(frame_shape)
    progress("rendering the pattern", 0.25)
    evidence, hidden = gather_evidence(screen, detection, target, field, settings.kernel_px)
    solution = _solved(evidence, settings, progress)
    notes = _notes(detection, hidden, target, vignetting, frame_shape)
    progress("done", 1.0)
    return Calibration(
        kernels=solution.kernels,
        rows=settings.rows,
        cols=settings.cols,
        field=field,
        frame_shape=frame_shape,
        vignetting=None if vignetting is None else np.maximum(vignetting.maps, 1e-4),
        camera=camera.name,
        focus_distance_m=camera.focus_distance_m,
        captured_on=camera.captured_on or datetime.date.today().isoformat(),
        verdict=judge(detection, screen, solution, settings.rows, settings.cols, notes),
        lens_constants=camera.lens_constants,
        source=_source(captures, settings, target),
        orientation=discs.orientation,
        diagnostics=_diagnostics(screen, detection, solution),
    )


def merge_burst(captures: Sequence[DualPixelCapture], what: str) -> DualPixelCapture:
    """One capture from several of the same thing; aligned only if the camera moved."""
    if not captures:
        raise CalibrationError(f"There is no capture of the {what}; give at least one.")
    return merge_captures(captures, align=what == "discs" and _moved(captures))


def _moved(captures: Sequence[DualPixelCapture]) -> bool:
    """Whether any capture is shifted against the first one, by phase correlation."""
    first, *others = (c.raw.mean(axis=(0, 1)).astype(np.float32) for c in captures)
    if any(other.shape != first.shape for other in others):
        return False  # merging names the one that differs
    window = cv2.createHanningWindow(first.shape[::-1], cv2.CV_32F)
    shifts = np.array([cv2.phaseCorrelate(first, other, window)[0] for other in others])
    return bool((np.abs(shifts) > STILL_PX).any())


def _check_sheets(vignetting: Vignetting | None, frame_shape: tuple[int, int]) -> None:
    if vignetting is not None and vignetting.maps.shape[-2:] != frame_shape:
        height, width = vignetting.maps.shape[-2:]
        raise CalibrationError(
            f"The white sheets ({width} x {height} px) and the discs ({frame_shape[1]} x "
            f"{frame_shape[0]} px) have different sizes; capture all with the same camera."
        )


def _solved(evidence: Evidence, settings: SolveSettings, progress: Progress) -> Solution:
    solution: Solution | None = None
    for done, count, result in solve_kernels(evidence, settings):
        progress(f"solving kernels, tile {done} of {count}", 0.3 + 0.65 * done / count)
        solution = result
    if solution is None:
        raise CalibrationError("The kernels were not solved; calibrate again.")
    return solution


def _notes(
    detection: Detection,
    hidden: np.ndarray,
    target: Target,
    vignetting: Vignetting | None,
    frame_shape: tuple[int, int],
) -> list[str]:
    notes = []
    if len(hidden):
        notes.append(
            f"{len(hidden)} discs are covered by something; their surroundings were left out."
        )
    if _cut_off_everywhere(detection, target, frame_shape):
        notes.append(
            "The pattern is cut off at every border of the picture; the sizes of the "
            "discs still tell which ones are visible."
        )
    if vignetting is None:
        notes.append("There is no white sheet, so that vignetting is not corrected.")
    else:
        notes += [f"White sheet {n} {why}; left out." for n, why in vignetting.left_out.items()]
    return notes


def _cut_off_everywhere(detection: Detection, target: Target, frame_shape: tuple[int, int]) -> bool:
    """Whether the screen reaches beyond all four borders of the picture."""
    height, width = frame_shape
    middles = [(0, height / 2), (width, height / 2), (width / 2, 0), (width / 2, height)]
    screen = detection.geometry.to_screen(np.array(middles, float))
    return bool(((screen > 0) & (screen < np.array(target.screen_px))).all())


def _source(captures: Captures, settings: SolveSettings, target: Target) -> dict[str, Any]:
    """Provenance, ready for JSON."""
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


def _diagnostics(screen: Screen, detection: Detection, solution: Solution) -> dict[str, np.ndarray]:
    """Small pictures for `calibrate show`."""
    mean = np.clip(screen.views.mean(axis=0), 0.0, 1.2)
    scale = THUMBNAIL_PX / mean.shape[1]
    size = (THUMBNAIL_PX, round(mean.shape[0] * scale))
    ratio = solution.residual.shape[1] / solution.residual.shape[2]
    map_size = (RESIDUAL_MAP_PX, round(RESIDUAL_MAP_PX * ratio))
    energy = [
        np.sqrt(cv2.resize(view**2, map_size, interpolation=cv2.INTER_AREA))
        for view in solution.residual
    ]
    return {
        "thumbnail": cv2.resize(mean, size, interpolation=cv2.INTER_AREA),
        "residual": np.stack(energy),
        "discs": np.column_stack([detection.centres, detection.residuals]).astype(np.float32),
    }
