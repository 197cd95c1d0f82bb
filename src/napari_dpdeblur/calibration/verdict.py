"""Grade a calibration: figures of merit, their meaning, and remedies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.calibration.record import Field
from napari_dpdeblur.calibration.sides import centroids_px, disparity_px, vertical_disparity_px
from napari_dpdeblur.calibration.solve.kernels import KernelSolution
from napari_dpdeblur.calibration.solve.motion import motion_px
from napari_dpdeblur.calibration.solve.radiometry import Screen
from napari_dpdeblur.calibration.target.detect import Detection

GOOD, ACCEPTABLE, BAD = "good", "acceptable", "bad"
GRADES = (GOOD, ACCEPTABLE, BAD)
RIM_PX = 2
# Quantisation noise: smaller residuals say nothing about the kernels.
MIN_NOISE = 0.003
MAX_VERTICAL_PX = 0.4
# Off the axis, a lens is softer along the radius than across it.
OFF_CENTRE_NOTE = (
    "The calibrated field is not in the middle of the image, so motion blur cannot be told from "
    "the lens and was not checked."
)


@dataclass(frozen=True)
class Rule:
    """Limits of a figure, and the remedy if it is not good.

    Smaller is better, unless ``good`` exceeds ``acceptable``.
    """

    name: str
    meaning: str
    good: float
    acceptable: float
    remedy: str

    def grade(self, value: float) -> str:
        """Good, acceptable or bad."""
        sign = -1.0 if self.good > self.acceptable else 1.0
        if sign * value <= sign * self.good:
            return GOOD
        return ACCEPTABLE if sign * value <= sign * self.acceptable else BAD


RULES = (
    Rule(
        "reprojection_rms_pitch",
        "RMS distance of the discs from their prediction, in pitches",
        0.04,
        0.06,
        "The screen is curved or the camera moved: use a flat screen and a tripod.",
    ),
    Rule(
        "residual_to_noise",
        "residual of the kernel fit, in units of the noise",
        1.5,
        3.0,
        "The scene changed between the captures, or the screen shows reflections: darken the room, "
        "and do not change exposure or position between discs, white and black.",
    ),
    Rule(
        "noise_to_white",
        "noise of the merged discs, as a share of white",
        0.025,
        0.06,
        "The captures are dark: increase the screen brightness or merge more captures.",
    ),
    Rule(
        "saturated_share",
        "share of saturated pixels in the discs",
        0.0005,
        0.01,
        "The discs are overexposed: reduce the exposure time or the screen brightness.",
    ),
    Rule(
        "tile_coverage",
        "share of tiles whose kernels were measured rather than filled from neighbours",
        0.999,
        0.85,
        "The pattern does not cover the calibrated field: move closer, centre the screen, and "
        "remove obstructions.",
    ),
    Rule(
        "kernel_radius_px",
        "RMS radius of the kernels",
        4.0,
        2.5,
        "The screen is nearly in focus, so there is little blur to measure: focus closer or move "
        "the screen away.",
    ),
    Rule(
        "border_mass",
        "largest share of a kernel in its outermost two pixels",
        0.02,
        0.06,
        "The kernel size is too small for this blur: use a larger one, or move the screen closer "
        "to the focus plane.",
    ),
    Rule(
        "disparity_spread",
        "variation of the left-right disparity between tiles, relative to its mean",
        0.15,
        0.4,
        "The two views are inconsistent: check that left and right come from the same capture and "
        "that the screen is flat.",
    ),
    Rule(
        "kernel_roughness",
        "difference between kernels of neighbouring tiles, relative to their size",
        0.4,
        0.7,
        "Kernels vary too much between tiles: merge more captures, and check for reflections or "
        "occluded discs.",
    ),
    Rule(
        "wrong_side_px",
        "disparity that contradicts the side of the focus plane given for the captures",
        0.0,
        0.0,
        "The left and right views of all captures are exchanged, or the target was on the other "
        "side of the focus plane: exchange the views, or give a target in front of the focus plane "
        "as the captures of the front.",
    ),
    Rule(
        "vertical_disparity_px",
        "distance of the left from the right kernels across the disparity",
        MAX_VERTICAL_PX,
        0.8,
        "The right view is displaced against the left one: use both files of the same capture as "
        "the camera wrote them, not cropped or aligned.",
    ),
    Rule(
        "motion_px",
        "motion of the camera that makes all kernels softer along one direction",
        2.0,
        3.5,
        "The camera or the screen moved during the exposure of the discs, unless the lens itself "
        "is softer along one direction: use a tripod and a self-timer, or a shorter exposure.",
    ),
    Rule(
        "white_error",
        "difference of the white of the discs from the white screen; corrected if small",
        0.02,
        0.1,
        "The white screen and the discs differ in brightness, or there is glare in the lens: "
        "capture both with the same exposure and screen brightness, and clean the lens.",
    ),
    Rule(
        "black_error",
        "light in the black of the discs that the black screen lacks; corrected if small",
        0.008,
        0.04,
        "Ambient light changed between the captures, or there is glare in the lens: darken the "
        "room, and clean the lens.",
    ),
)


def judge(
    detection: Detection,
    screen: Screen,
    solution: KernelSolution,
    grid: tuple[int, int],
    field: Field,
    notes: Sequence[str] = (),
    wrong_side_px: float = 0.0,
) -> dict[str, Any]:
    """Grade, figures and remedies as plain values, ready for JSON.

    ``grid``: rows and columns of the tiles; ``field``: where they are; ``wrong_side_px``: disparity
    of the views that contradicts the side of the focus plane given for the captures.
    """
    figures = measure(detection, screen, solution, grid, wrong_side_px)
    if not field.is_centred(screen.lit.shape):
        figures["motion_px"] = 0.0
        notes = [*notes, OFF_CENTRE_NOTE]
    checks = [
        {
            "name": rule.name,
            "value": round(figures[rule.name], 5),
            "grade": rule.grade(figures[rule.name]),
            "meaning": rule.meaning,
            "remedy": rule.remedy,
        }
        for rule in RULES
    ]
    return {
        "grade": _worst_grade(checks),
        "checks": checks,
        "detection": detection.describe(),
        "mean_disparity_px": round(float(disparity_px(solution.kernels).mean()), 3),
        "filled_tiles": [int(tile) for tile in np.flatnonzero(~solution.solved)],
        "notes": list(notes),
    }


def judge_both(back: dict[str, Any], front: dict[str, Any] | None) -> dict[str, Any]:
    """The verdict behind the focus plane with that in front of it, if there is one, as ``front``.

    The grade is the worse of both.
    """
    if front is None:
        return back
    grade = max(back["grade"], front["grade"], key=GRADES.index)
    return {**back, "grade": grade, "front": front}


def _worst_grade(checks: Sequence[Mapping[str, Any]]) -> str:
    return max((str(check["grade"]) for check in checks), key=GRADES.index, default=GOOD)


def measure(
    detection: Detection,
    screen: Screen,
    solution: KernelSolution,
    grid: tuple[int, int],
    wrong_side_px: float,
) -> dict[str, float]:
    """Figures that the rules grade."""
    noise = float(np.median(solution.noise[solution.solved]))
    residual = float(np.sqrt((solution.residual[solution.residual != 0] ** 2).mean()))
    disparity = disparity_px(solution.kernels[solution.solved])
    return {
        "reprojection_rms_pitch": detection.rms_px / detection.pitch_px,
        "residual_to_noise": residual / max(noise, MIN_NOISE),
        "noise_to_white": noise,
        "saturated_share": float(screen.saturated.mean()),
        "tile_coverage": float(solution.solved.mean()),
        "kernel_radius_px": float(np.median(_radius_px(solution.kernels))),
        "border_mass": float(_border_mass(solution.kernels).max()),
        "disparity_spread": float(disparity.std() / max(abs(disparity.mean()), 1e-6)),
        "kernel_roughness": _roughness(solution.kernels, *grid),
        "wrong_side_px": wrong_side_px,
        "vertical_disparity_px": abs(float(vertical_disparity_px(solution.kernels).mean())),
        "motion_px": _motion_px(screen, solution),
        "white_error": abs(solution.levels.gain - 1),
        "black_error": abs(solution.levels.offset),
    }


def _motion_px(screen: Screen, solution: KernelSolution) -> float:
    """Motion in the kernels; 0 if a displaced view, which looks similar, was found."""
    kernels = solution.kernels[solution.solved]
    is_displaced = abs(float(vertical_disparity_px(kernels).mean())) > MAX_VERTICAL_PX
    if is_displaced:
        return 0.0
    return motion_px(kernels, screen.row_upsampling)


def _radius_px(kernels: np.ndarray) -> np.ndarray:
    """RMS distance from the centroid: (P, 2)."""
    offset = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
    squares = (kernels.sum(-2) * offset**2).sum(-1) + (kernels.sum(-1) * offset**2).sum(-1)
    return np.asarray(np.sqrt(np.maximum(squares - (centroids_px(kernels) ** 2).sum(-1), 0.0)))


def _border_mass(kernels: np.ndarray) -> np.ndarray:
    inner = kernels[..., RIM_PX:-RIM_PX, RIM_PX:-RIM_PX].sum((-2, -1))
    return np.asarray(1 - inner / kernels.sum((-2, -1)))


def _roughness(kernels: np.ndarray, rows: int, cols: int) -> float:
    """Median relative difference between neighbouring tiles; 0 for a single tile."""
    grid = kernels.reshape(rows, cols, *kernels.shape[1:])
    pairs = [(grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1])]
    ratios = [_relative(a, b).ravel() for a, b in pairs if a.size]
    return float(np.median(np.concatenate(ratios))) if ratios else 0.0


def _relative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    difference = np.sqrt(((a - b) ** 2).sum((-2, -1)))
    return np.asarray(difference / np.sqrt((a**2).sum((-2, -1))))


def verdict_lines(verdict: dict[str, Any]) -> list[str]:
    """Verdict as text: one line per figure, then the remedies; each side for itself."""
    lines = [f"verdict: {verdict.get('grade', 'none')}"]
    front = verdict.get("front")
    if front is None:
        return lines + _side_lines(verdict)
    behind = _worst_grade(verdict.get("checks", []))
    lines += [f"behind the focus plane: {behind}", *_side_lines(verdict)]
    return [*lines, f"in front of the focus plane: {front.get('grade')}", *_side_lines(front)]


def _side_lines(verdict: dict[str, Any]) -> list[str]:
    checks = verdict.get("checks", [])
    lines = [
        f"  {check['grade']:<11}{check['name']:<24}{check['value']:<10g}{check['meaning']}"
        for check in checks
    ]
    lines += [f"  {check['remedy']}" for check in checks if check["grade"] != GOOD]
    if filled := verdict.get("filled_tiles"):
        tiles = ", ".join(map(str, filled))
        lines.append(f"  Tiles filled from neighbours: {tiles}.")
    return lines + [f"  {note}" for note in verdict.get("notes", [])]
