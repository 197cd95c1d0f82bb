"""Grade a calibration: figures of merit, their meaning, and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.calibration.solve.kernels import KernelSolution
from napari_dpdeblur.calibration.solve.radiometry import Screen
from napari_dpdeblur.calibration.target.detect import Detection
from napari_dpdeblur.optics.moments import first_moment

GOOD, ACCEPTABLE, BAD = "good", "acceptable", "bad"
GRADES = (GOOD, ACCEPTABLE, BAD)
RIM_PX = 2
# Quantisation noise: smaller residuals say nothing about the kernels.
MIN_NOISE = 0.003


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
)


def judge(
    detection: Detection,
    screen: Screen,
    solution: KernelSolution,
    rows: int,
    cols: int,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Grade, figures and remedies as plain values, ready for JSON."""
    figures = measure(detection, screen, solution, rows, cols)
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
    grade = max((str(check["grade"]) for check in checks), key=GRADES.index)
    return {
        "grade": grade,
        "checks": checks,
        "detection": detection.describe(),
        "mean_disparity_px": round(float(disparity_px(solution.kernels).mean()), 3),
        "filled_tiles": [int(tile) for tile in np.flatnonzero(~solution.solved)],
        "notes": list(notes),
    }


def measure(
    detection: Detection, screen: Screen, solution: KernelSolution, rows: int, cols: int
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
        "kernel_roughness": _roughness(solution.kernels, rows, cols),
    }


def centroids_px(kernels: np.ndarray) -> np.ndarray:
    """Centroids (..., 2) as (x, y) of kernels (..., K, K), from their middle."""
    moments = np.stack([first_moment(kernels, axis) for axis in (-1, -2)], axis=-1)
    return np.asarray(moments / kernels.sum((-2, -1))[..., None])


def disparity_px(kernels: np.ndarray) -> np.ndarray:
    """Left minus right centroid along x (P,) of kernels (P, 2, K, K)."""
    centroids = centroids_px(kernels)
    return np.asarray(centroids[:, 0, 0] - centroids[:, 1, 0])


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
    """Verdict as text: one line per figure, then the remedies."""
    checks = verdict.get("checks", [])
    lines = [f"verdict: {verdict.get('grade', 'none')}"]
    for check in checks:
        lines.append(
            f"  {check['grade']:<11}{check['name']:<24}{check['value']:<10g}{check['meaning']}"
        )
    lines += [f"  {check['remedy']}" for check in checks if check["grade"] != GOOD]
    if filled := verdict.get("filled_tiles"):
        tiles = ", ".join(map(str, filled))
        lines.append(f"  Tiles filled from neighbours: {tiles}.")
    return lines + [f"  {note}" for note in verdict.get("notes", [])]
