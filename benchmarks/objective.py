"""The published objective on a crop: how the paper's schedule lowers it, and where standard ends.

    python benchmarks/objective.py LEFT CALIBRATION [--crop Y,X,H,W] [--steps 1000] [--truth MAP]

The exit status is 1 when the objective, smoothed over 100 steps, ever rises.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import cv2
import numpy as np
import torch

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.cli.arguments import crop_argument
from napari_dpdeblur.evaluation.ground_truth import load_defocus
from napari_dpdeblur.evaluation.metrics import defocus_scores
from napari_dpdeblur.fitting import FitSettings, fit, fit_events
from napari_dpdeblur.fitting.paper.objective import Objective
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.optics import TiledBlur, bias_correction
from napari_dpdeblur.results import Result

WINDOW = 100  # steps over which the objective is smoothed


def paper_run(capture, calibration, crop, steps: int):
    """Loss terms of the first steps of the published schedule, and the last small map."""
    history: list[dict[str, float]] = []
    defocus_map = None
    events = fit_events(capture, calibration, FitSettings(preset="paper"), crop=crop)
    for event in events:
        if event.stage == "optimise":
            history.append(event.losses)
            defocus_map = event.defocus_map if event.defocus_map is not None else defocus_map
        if len(history) == steps:
            events.close()
            break
    return history, defocus_map


def map_scores(defocus_map, truth: Path | None, crop) -> str:
    """AIWE(1), AIWE(2), 1 - |rho| of a map of the crop, of any size."""
    if truth is None:
        return ""
    top, left, height, width = crop
    gt = load_defocus(truth)
    window = (slice(top, top + height), slice(left, left + width))
    larger = cv2.resize(defocus_map, (width, height), interpolation=cv2.INTER_LINEAR)
    scores = defocus_scores(larger, gt.defocus[window], gt.confidence[window])
    return f"AIWE {scores.aiwe1:.4f} {scores.aiwe2:.4f} 1-|rho| {scores.one_minus_spearman:.4f}"


def objective_of(result: Result, problem: FitProblem) -> dict[str, float]:
    """Terms of the published objective for a fit's layers."""
    brightest = float(problem.views.max())
    views = problem.views / brightest
    kernels = problem.layer_kernels(result.mpi.defocus_scales)
    objective = Objective(
        views,
        TiledBlur(kernels, problem.layout, blend_px=0),
        FitSettings().weights.of_terms(len(kernels)),
        Parameters().losses,
        bias_correction(kernels, mean_intensity=float(views.mean())),
    )
    color = torch.from_numpy(result.mpi.color * problem.intensity_scale / brightest)
    alpha = torch.from_numpy(result.mpi.alpha)
    terms, _, _ = objective.layer_gradient(color.clamp(0, 1), alpha)
    return terms.as_dict()


def falls(totals: np.ndarray) -> bool:
    """Whether the smoothed objective only falls; too few steps say nothing against it."""
    smooth = np.convolve(totals, np.ones(WINDOW) / WINDOW, mode="valid")[::WINDOW]
    return len(totals) < 2 * WINDOW or bool((np.diff(smooth) < 0).all())


def main() -> int:
    """Print the objective of both solutions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("left", type=Path)
    parser.add_argument("calibration", type=Path)
    parser.add_argument("--crop", type=crop_argument, default=(336, 504, 336, 336))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--truth", type=Path, metavar="MAP", help="true defocus map, to score both")
    arguments = parser.parse_args()
    capture = open_capture(arguments.left)
    calibration = load_calibration(arguments.calibration)
    problem = pose_problem(
        capture, calibration, FitSettings(preset="paper"), torch.device("cpu"), arguments.crop
    )
    # centred kernels describe the same lens in the geometry that standard works in
    for centred in (False, True):
        settings = FitSettings(preset="standard", centre_kernels=centred)
        result = fit(capture, calibration, settings, crop=arguments.crop)
        posed = problem
        if centred:
            posed = FitProblem(**{**vars(problem), "kernels": problem.kernels.centred()})
        terms = objective_of(result, posed)
        print(f"standard, kernels centred: {centred}", _line(terms), flush=True)
        print(map_scores(result.defocus_map, arguments.truth, arguments.crop), flush=True)
    history, defocus_map = paper_run(capture, calibration, arguments.crop, arguments.steps)
    totals = np.array([terms["total"] for terms in history])
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000):
        if step <= len(totals):
            print(f"paper, step {step:5d}", _line(history[step - 1]))
    print(map_scores(defocus_map, arguments.truth, arguments.crop))
    if len(totals) >= 2 * WINDOW:
        print(f"falls monotonically over {WINDOW} steps: {falls(totals)}")
    return int(not falls(totals))


def _line(terms: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:10.3f}" for name, value in terms.items())


if __name__ == "__main__":
    sys.exit(main())
