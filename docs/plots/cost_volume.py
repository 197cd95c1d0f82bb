"""cost_volume.png: cost against defocus at three pixels, the estimates, and the map from them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from common import INK, save, scene, show

from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.fitting.defocus import search as defocus_search
from napari_dpdeblur.fitting.defocus.cost_volume import CostVolume
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, local_estimate, propagate
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.generators import finish
from napari_dpdeblur.results.defocus_colors import sequential_scale

# name, row, column (as parts of the picture), colour
PIXELS = (
    ("flat ball", 0.30, 0.08, "#c0392b"),
    ("stripes", 0.66, 0.44, "#1390a0"),
    ("wall", 0.12, 0.62, "#8e7cc3"),
)
RANGE = (0.05, 1.6)
PARAMETERS = Parameters()


def computed() -> tuple[CostVolume, np.ndarray]:
    """Cost volume of the synthetic capture, and the true map."""
    simulation = scene()
    problem = pose_problem(
        simulation.capture, simulation.calibration, FitSettings(), torch.device("cpu")
    )
    coarse = problem.reduced(defocus_search.search_factor(problem, PARAMETERS.search))
    scales = defocus_search.search_scales(problem, PARAMETERS.search, "both")
    steps = defocus_search.search_cost_volume(coarse, scales, PARAMETERS.cost_volume, True)
    return finish(steps), simulation.scene.defocus_map


def curves(axes: plt.Axes, volume: CostVolume, estimate: Estimate, truth: np.ndarray) -> None:
    """Cost of three pixels in units of their smallest, with the place of the parabola."""
    height, width = estimate.centre.shape
    confidence = estimate.confidence(PARAMETERS.local_estimate)
    for name, row, col, color in PIXELS:
        y, x = int(row * height), int(col * width)
        cost = np.asarray(volume.cost[:, y, x])
        scales = np.asarray(volume.scales)
        true = truth[int(row * truth.shape[0]), int(col * truth.shape[1])]
        label = f"{name}: true {true:.2f}, found {float(estimate.centre[y, x]):.2f}, "
        axes.semilogy(
            scales,
            cost / cost.min(),
            color=color,
            label=label + f"confidence {float(confidence[y, x]):.2f}",
        )
        axes.axvline(true, color=color, lw=0.8, ls=":")
    axes.set(xlabel="tried defocus scale (dotted: truth)", ylabel="cost / smallest cost")
    axes.legend(fontsize=7)


def main() -> None:
    """Curves, then estimates, confidence, map and truth."""
    volume, truth = computed()
    estimate = local_estimate(volume, PARAMETERS.local_estimate)
    *_, spread = propagate(estimate, volume.guide, PARAMETERS.propagation, PARAMETERS.solver)
    figure = plt.figure(figsize=(9.2, 4.6), layout="constrained")
    parts = figure.add_gridspec(2, 4, height_ratios=(1.25, 1))
    curves(figure.add_subplot(parts[0, :]), volume, estimate, truth)
    colors = sequential_scale(*RANGE)
    centre = colors.paint(np.asarray(estimate.centre))
    show(figure.add_subplot(parts[1, 0]), centre, "estimate of each pixel")
    gray = np.asarray(estimate.confidence(PARAMETERS.local_estimate))[..., None]
    confidence = np.repeat(gray, 3, axis=2)
    show(figure.add_subplot(parts[1, 1]), confidence, "confidence")
    show(
        figure.add_subplot(parts[1, 2]),
        colors.paint(np.asarray(spread)),
        "spread up to the edges",
    )
    axes = figure.add_subplot(parts[1, 3])
    show(axes, colors.paint(truth), "truth")
    for _, row, col, color in PIXELS:
        axes.plot(col * truth.shape[1], row * truth.shape[0], "o", ms=4, mfc=color, mec=INK)
    save(figure, "cost_volume.png")


if __name__ == "__main__":
    main()
