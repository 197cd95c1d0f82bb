"""The published objective on a crop, for the paper's schedule and for the layers of `standard`.

    python benchmarks/objective.py LEFT CALIBRATION [--crop Y,X,H,W] [--steps 1000] [--truth MAP]
        [--save]

The exit status is 1 when the objective, smoothed over 100 steps, ever rises.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
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
from results_file import add_save_option, save_figures

WINDOW = 100  # steps over which the objective is smoothed


def paper_run(capture, calibration, crop, steps: int):
    """Loss terms of the first steps of the published schedule, and the last preview of the map."""
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


def map_scores(defocus_map, truth: Path | None, crop) -> dict[str, float]:
    """AIWE(1), AIWE(2), 1 - |rho| of a map of the crop, of any size; empty without a map."""
    if truth is None or defocus_map is None:
        return {}
    top, left, height, width = crop
    gt = load_defocus(truth)
    window = (slice(top, top + height), slice(left, left + width))
    larger = cv2.resize(defocus_map, (width, height), interpolation=cv2.INTER_LINEAR)
    scores = defocus_scores(larger, gt.defocus[window], gt.confidence[window])
    names = ("aiwe1", "aiwe2", "one_minus_spearman")
    return {name: getattr(scores, name) for name in names}


def objective_of(result: Result, problem: FitProblem) -> dict[str, float]:
    """Terms of the published objective for a fit's layers."""
    brightest = float(problem.views.max())
    views = problem.views / brightest
    scales = result.mpi.defocus_scales
    kernels = [problem.kernels.scaled(float(scale), problem.pixel_pitch) for scale in scales]
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
    """Whether the smoothed objective decreases throughout; True for too few steps to tell."""
    smooth = np.convolve(totals, np.ones(WINDOW) / WINDOW, mode="valid")[::WINDOW]
    return len(totals) < 2 * WINDOW or bool((np.diff(smooth) < 0).all())


def main() -> int:
    """Print the objective of both solutions; 1 when that of the paper's schedule rises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("left", type=Path, help="left view of a capture")
    parser.add_argument("calibration", type=Path, help="calibration file or published folder")
    parser.add_argument("--crop", type=crop_argument, default=(336, 504, 336, 336))
    parser.add_argument("--steps", type=int, default=1000, help="steps of the paper's schedule")
    parser.add_argument("--truth", type=Path, metavar="MAP", help="true defocus map, to score both")
    add_save_option(parser)
    options = parser.parse_args()
    capture, calibration = open_capture(options.left), load_calibration(options.calibration)
    figures = standard_figures(capture, calibration, options.crop, options.truth)
    history, defocus_map = paper_run(capture, calibration, options.crop, options.steps)
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000):
        if step <= len(history):
            print(f"paper, step {step:5d}", _line(history[step - 1]))
    scores = map_scores(defocus_map, options.truth, options.crop)
    print("paper, map", _line(scores))
    figures["paper"] = {**history[-1], **scores, "steps": len(history)}
    is_falling = falls(np.array([terms["total"] for terms in history]))
    if len(history) >= 2 * WINDOW:
        print(f"decreases monotonically over {WINDOW} steps: {is_falling}")
    if options.save:
        save_figures("objective", figures)
    return int(not is_falling)


def standard_figures(capture, calibration, crop, truth: Path | None) -> dict[str, dict[str, float]]:
    """Loss terms and map scores of `standard`, without and with centred kernels."""
    problem = pose_problem(
        capture, calibration, FitSettings(preset="paper"), torch.device("cpu"), crop
    )
    # Centred kernels describe the same lens in the geometry that standard works in.
    posed = {
        "standard_not_centred": problem,
        "standard": replace(problem, kernels=problem.kernels.centred()),
    }
    figures = {}
    for name, case in posed.items():
        settings = FitSettings(preset="standard", centre_kernels=name == "standard")
        result = fit(capture, calibration, settings, crop=crop)
        scores = map_scores(result.defocus_map, truth, crop)
        figures[name] = {**objective_of(result, case), **scores}
        print(name, _line(figures[name]), flush=True)
    return figures


def _line(figures: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in figures.items())


if __name__ == "__main__":
    sys.exit(main())
