"""Calibrate a camera from captures of the calibration target and of white sheets."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_dpdeblur.calibration.captures import (
    Captures,
    MergedSet,
    check_one_side,
    check_same_camera,
    check_two_sides,
    merge_burst,
    view_shift_px,
)
from napari_dpdeblur.calibration.events import CalibrationClock, CalibrationEvent
from napari_dpdeblur.calibration.odd_shots import without_odd_shots
from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.calibration.report.thumbnails import detection_thumbnail, diagnostics
from napari_dpdeblur.calibration.sides import (
    BEHIND,
    FRONT,
    IN_FRONT,
    TARGET_SIDE,
    disparity_px,
    disparity_ratio,
    turned,
)
from napari_dpdeblur.calibration.solve.kernels import (
    KernelSolution,
    SolveSettings,
    TargetObservations,
    solve_kernels,
)
from napari_dpdeblur.calibration.solve.levels import estimate_levels
from napari_dpdeblur.calibration.solve.observations import central_field, gather_observations
from napari_dpdeblur.calibration.solve.radiometry import Screen, screen_views
from napari_dpdeblur.calibration.target.detect import (
    Detection,
    detect_discs,
    is_cut_off_everywhere,
)
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.verdict import judge, judge_both
from napari_dpdeblur.calibration.vignetting import Vignetting, merge_white_sheets
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import finish, translated

MIN_LIGHT = 1e-4  # vignetting is a divisor
TURNED_NOTE = (
    "The target was in front of the focus plane: its kernels, turned by 180 degrees, serve behind "
    "it."
)


@dataclass(frozen=True)
class Camera:
    """Metadata of the camera that the files do not contain."""

    name: str = "unknown camera"
    focus_distance_m: float | None = None
    captured_on: str | None = None
    lens_constants: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class _Seen:
    """The normalised captures and the detected discs of one side."""

    screen: Screen
    detection: Detection
    notes: tuple[str, ...] = ()

    @property
    def frame_shape(self) -> tuple[int, int]:
        return self.screen.lit.shape[0], self.screen.lit.shape[1]


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
    merged, vignetting = yield from _merge(captures, clock)
    seen = yield from _detected(merged, target, vignetting, clock)
    frame_shape = seen[BEHIND].frame_shape
    field = field or central_field(frame_shape)
    solutions, notes = yield from _measured(seen, target, field, settings, clock)
    wrong_side_px = _wrong_side_px(solutions, captures.side)
    is_front = _turn_if_in_front(solutions)
    notes[BEHIND] += [TURNED_NOTE] * (is_front and not wrong_side_px) + _sheet_notes(vignetting)
    sides = {
        side: judge(
            s.detection, s.screen, solutions[side], settings.grid, field, told, wrong_side_px
        )
        for (side, s), told in zip(seen.items(), notes.values(), strict=True)
    }
    verdict = judge_both(sides[BEHIND], sides.get(IN_FRONT))
    yield clock.event("verdict", 1, 1, f"verdict: {verdict['grade']}")
    return Calibration(
        solutions[BEHIND].kernels,
        settings.rows,
        settings.cols,
        field,
        frame_shape,
        verdict=verdict,
        source=_source(captures, settings, target, is_front),
        orientation=merged[BEHIND].discs.orientation,
        diagnostics=_diagnostics(seen, solutions),
        **_front(solutions),
        **_about(camera, vignetting),
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
) -> Generator[CalibrationEvent, None, tuple[dict[str, MergedSet], Vignetting | None]]:
    """Merge each burst into one capture, and the white sheets into a vignetting map."""
    check_cancelled()
    total = 3 * len(captures.sets) + 1
    merged, step = {}, 0
    for side, given in captures.sets.items():
        where = "" if side == BEHIND else f" {side} the focus plane"
        check_one_side(given.discs)
        kinds = []
        kept, notes = without_odd_shots(given.discs)
        for what, burst in (
            ("discs", kept),
            ("white screen", given.white),
            ("black screen", given.black),
        ):
            kinds.append(merge_burst(burst, f"{what}{where}"))
            step += 1
            yield clock.event("merging", step, total, f"{what}{where}")
        merged[side] = MergedSet(kinds[0], kinds[1], kinds[2], tuple(notes))
    check_two_sides({side: view_shift_px(kinds.discs) for side, kinds in merged.items()})
    vignetting = merge_white_sheets(captures.sheets) if captures.sheets else None
    yield clock.event("merging", total, total, "white sheets")
    return merged, vignetting


def _detected(
    merged: Mapping[str, MergedSet],
    target: Target,
    vignetting: Vignetting | None,
    clock: CalibrationClock,
) -> Generator[CalibrationEvent, None, dict[str, _Seen]]:
    """Normalise the captures of each side to the screen, and detect the discs."""
    screens = {
        side: screen_views(kinds.discs, kinds.white, kinds.black) for side, kinds in merged.items()
    }
    check_same_camera(merged)
    _check_sheets(vignetting, screens[BEHIND].lit.shape)
    total = 1 + len(screens)
    yield clock.event("discs", 1, total, "captures normalised")
    seen = {}
    for side, screen in screens.items():
        detection = detect_discs(screen.views.mean(axis=0), target, merged[side].discs.name)
        seen[side] = _Seen(screen, detection, merged[side].notes)
        found = f"{len(detection.centres)} of {detection.expected} discs found"
        shown = detection_thumbnail(screen, detection)
        yield clock.event("discs", 1 + len(seen), total, found, **shown)
    return seen


def _check_sheets(vignetting: Vignetting | None, frame_shape: tuple[int, ...]) -> None:
    if vignetting is not None and vignetting.maps.shape[-2:] != frame_shape:
        height, width = vignetting.maps.shape[-2:]
        raise CalibrationError(
            f"The white sheets ({width} x {height} px) and the discs ({frame_shape[1]} x "
            f"{frame_shape[0]} px) have different sizes; use the same camera for both."
        )


def _measured(
    seen: Mapping[str, _Seen],
    target: Target,
    field: Field,
    settings: SolveSettings,
    clock: CalibrationClock,
) -> Generator[CalibrationEvent, None, tuple[dict[str, KernelSolution], dict[str, list[str]]]]:
    """Solve for the kernels of each side; also notes on each side."""
    observed, levels, notes = {}, {}, {}
    for side, s in seen.items():
        observed[side], hidden = gather_observations(
            s.screen, s.detection, target, field, settings.kernel_px
        )
        levels[side] = estimate_levels(observed[side], settings)
        observed[side] = levels[side].corrected(observed[side])
        notes[side] = [*s.notes, *levels[side].notes(), *_side_notes(s, hidden, target)]
        yield clock.event("pattern", len(observed), len(seen), "sharp pattern rendered")
    solutions: dict[str, KernelSolution] = {}
    for side, observations in observed.items():
        part = (len(solutions), len(seen))
        solution = yield from _solved(observations, settings, clock, part)
        solutions[side] = replace(solution, levels=levels[side])
    check_two_sides({side: _mean_disparity_px(s) for side, s in solutions.items()})
    return solutions, notes


def _solved(
    observations: TargetObservations,
    settings: SolveSettings,
    clock: CalibrationClock,
    part: tuple[int, int],
) -> Generator[CalibrationEvent, None, KernelSolution]:
    """Solve one side; ``part`` is how many sides are finished, and how many there are."""
    finished, sides = part

    def told(counts: tuple[int, int]) -> CalibrationEvent:
        done, total = counts
        step = finished * total + done
        return clock.event("kernels", step, sides * total, f"tile {step} of {sides * total}")

    return translated(solve_kernels(observations, settings), told)


def _mean_disparity_px(solution: KernelSolution) -> float:
    return float(disparity_px(solution.kernels).mean())


def _wrong_side_px(solutions: Mapping[str, KernelSolution], side: str) -> float:
    """Disparity of a set that contradicts the side given for it; 0 if none does."""
    disparity = _mean_disparity_px(solutions[BEHIND])
    return max(disparity if side == BEHIND else -disparity, 0.0)


def _turn_if_in_front(solutions: dict[str, KernelSolution]) -> bool:
    """Turn kernels that were given for behind the focus plane but come from in front of it."""
    behind = solutions[BEHIND]
    is_front = _mean_disparity_px(behind) > 0
    if is_front:
        solutions[BEHIND] = replace(behind, kernels=turned(behind.kernels))
    return is_front


def _side_notes(seen: _Seen, hidden: np.ndarray, target: Target) -> list[str]:
    notes = []
    if len(hidden):
        notes.append(f"{len(hidden)} discs are occluded; the area around them was ignored.")
    if is_cut_off_everywhere(seen.detection, target, seen.frame_shape):
        notes.append(
            "The pattern extends beyond every image border; the visible discs were identified "
            "by their sizes."
        )
    return notes


def _sheet_notes(vignetting: Vignetting | None) -> list[str]:
    if vignetting is None:
        return ["There is no white sheet, so vignetting is not corrected."]
    return [f"White sheet {n} {why}; ignored." for n, why in vignetting.left_out.items()]


def _about(camera: Camera, vignetting: Vignetting | None) -> dict[str, Any]:
    """Fields of the calibration that describe the camera."""
    return {
        "vignetting": None if vignetting is None else np.maximum(vignetting.maps, MIN_LIGHT),
        "camera": camera.name,
        "focus_distance_m": camera.focus_distance_m,
        "captured_on": camera.captured_on or datetime.date.today().isoformat(),
        "lens_constants": camera.lens_constants,
    }


def _front(solutions: Mapping[str, KernelSolution]) -> dict[str, Any]:
    """Fields of the calibration that describe the front of the focus plane, if measured."""
    if IN_FRONT not in solutions:
        return {}
    front, back = solutions[IN_FRONT].kernels, solutions[BEHIND].kernels
    return {"front_kernels": front, "front_scale": disparity_ratio(front, back)}


def _diagnostics(
    seen: Mapping[str, _Seen], solutions: Mapping[str, KernelSolution]
) -> dict[str, np.ndarray]:
    """Arrays of both sides that `calibrate show` draws."""
    return {
        f"{'' if side == BEHIND else FRONT}{name}": array
        for side, s in seen.items()
        for name, array in diagnostics(s.screen, s.detection, solutions[side]).items()
    }


def _source(
    captures: Captures, settings: SolveSettings, target: Target, is_front: bool
) -> dict[str, Any]:
    """Provenance as plain values, ready for JSON."""
    groups = captures.groups
    side = {TARGET_SIDE: IN_FRONT} if is_front else {}
    return {
        "format": "calibration run",
        "captures": {name: [c.name for c in group] for name, group in groups.items()},
        "sha256": {
            name: [digest for c in group for digest in c.source.sha256]
            for name, group in groups.items()
        },
        "settings": settings.model_dump(),
        "target": target.describe(),
        **side,
    }
