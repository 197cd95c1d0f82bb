"""Time and memory of one full-size step of the published schedule.

    python benchmarks/paper_step.py CALIBRATION [--repeats 5] [--autograd] [--json] [--save]

CALIBRATION is a calibration file or the published folder. Twelve layers of 1008 x 1344 px, hard
tile selection, single precision: the objective with all terms, its gradient, one step of Adam.
Best time of all repeats, peak memory of the process. `--autograd` computes the gradient by
automatic differentiation of the plain loss functions, for comparison. The exit status is 1 when a
limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time

# Waiting threads would otherwise spin and slow down the others on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from torch import Tensor

from measured import gigabytes
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.fitting.paper import losses
from napari_dpdeblur.fitting.paper.adam import PaperState, Schedule, descend
from napari_dpdeblur.fitting.paper.losses import LossTerms
from napari_dpdeblur.fitting.paper.objective import Objective, opaque_behind
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.optics import TiledBlur, TileLayout, bias_correction
from results_file import add_save_option, save_figures

LAYERS, HEIGHT, WIDTH = 12, 1008, 1344
PARAMETERS, WEIGHTS = Parameters(), Weights().of_terms(LAYERS)
AT_MOST = {"step_s": 8.0, "peak_memory_gb": 4.0}


class AutogradObjective(Objective):
    """The same objective, differentiated by torch."""

    def __init__(self, views: Tensor, blur: TiledBlur, *_: object, bias: Tensor) -> None:
        super().__init__(views, blur, WEIGHTS, PARAMETERS.losses, bias)
        self._inputs = (views, blur, bias, self.intensity_scale, PARAMETERS.losses)

    def loss_and_gradient(
        self, color_logits: Tensor, alpha_logits: Tensor
    ) -> tuple[LossTerms, Tensor, Tensor]:
        logits = [color_logits.detach().requires_grad_(), alpha_logits.detach().requires_grad_()]
        alpha = opaque_behind(logits[1].sigmoid().clone())
        rendering = losses.Rendering.of(logits[0].sigmoid(), alpha, *self._inputs)
        terms = losses.evaluate(rendering, WEIGHTS)
        color_gradient, alpha_gradient = torch.autograd.grad(terms.total, logits)
        return terms, color_gradient, alpha_gradient


def measure(calibration: str, repeats: int, autograd: bool) -> dict[str, float]:
    """Best wall time in seconds and peak memory of this process in GB."""
    lens = load_calibration(calibration)
    grid = lens.kernel_grid()
    kernels = [grid.scaled(float(scale)) for scale in np.linspace(1.3, 0.1, LAYERS)]
    layout = TileLayout.regular(HEIGHT, WIDTH, grid.rows, grid.cols)
    views = torch.rand(2, 1, HEIGHT, WIDTH)
    kind = AutogradObjective if autograd else Objective
    bias = bias_correction(kernels, float(views.mean()))
    blur = TiledBlur(kernels, layout, blend_px=0)
    objective = kind(views, blur, WEIGHTS, PARAMETERS.losses, bias=bias)
    state = PaperState.uniform(views, LAYERS, PARAMETERS.paper)
    times = []
    start = time.perf_counter()
    for _ in descend(objective, state, Schedule(repeats, PARAMETERS.paper)):
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
    peak = gigabytes(resource.getrusage(resource.RUSAGE_SELF))
    return {"step_s": min(times), "peak_memory_gb": peak, "threads": torch.get_num_threads()}


def main() -> int:
    """Print the figures with their limits; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calibration", help="calibration file or published folder")
    parser.add_argument("--repeats", type=int, default=5, help="steps to take the best of")
    parser.add_argument("--autograd", action="store_true", help="measure plain autograd instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args()
    figures = measure(options.calibration, options.repeats, options.autograd)
    if options.save:
        save_figures("paper_step_autograd" if options.autograd else "paper_step", figures)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            limit = f"  at most {AT_MOST[name]}" if name in AT_MOST else ""
            print(f"{name:<16}{value:8.2f}{limit}")
    return int(any(figures[name] > limit for name, limit in AT_MOST.items()))


if __name__ == "__main__":
    sys.exit(main())
