"""Time and memory of one full-size step of the published schedule.

    python benchmarks/paper_step.py CALIBRATION [--repeats 5] [--autograd] [--json]

CALIBRATION is a calibration file or the published folder. Twelve layers of 1008 x 1344 px, hard
tile selection, single precision: the objective with all terms, its gradient, one step of Adam.
Best time of all repeats, peak memory of the process. `--autograd` takes the gradient by automatic
differentiation of the plain loss functions instead, for comparison. The exit status is 1 when a
limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time

# On a busy machine threads that wait would otherwise spin and keep the others from working.
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
from napari_dpdeblur.optics import TiledBlur, TileLayout, bias_correction

LAYERS, HEIGHT, WIDTH = 12, 1008, 1344
AT_MOST = {"step_s": 8.0, "peak_memory_gb": 4.0}


class AutogradObjective(Objective):
    """The same objective, differentiated by torch."""

    def __init__(self, views: Tensor, blur: TiledBlur, bias: Tensor) -> None:
        super().__init__(views, blur, bias=bias)
        self._inputs = (views, blur, bias, self.intensity_scale, self.weights)

    def loss_and_gradient(
        self, color_logits: Tensor, alpha_logits: Tensor
    ) -> tuple[LossTerms, Tensor, Tensor]:
        logits = [color_logits.detach().requires_grad_(), alpha_logits.detach().requires_grad_()]
        alpha = opaque_behind(logits[1].sigmoid().clone())
        terms = losses.evaluate(logits[0].sigmoid(), alpha, *self._inputs)
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
    objective = kind(views, TiledBlur(kernels, layout, blend_px=0), bias=bias)
    state = PaperState.uniform(views, LAYERS)
    times = []
    start = time.perf_counter()
    for _ in descend(objective, state, Schedule(steps=repeats)):
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
    peak = gigabytes(resource.getrusage(resource.RUSAGE_SELF))
    return {"step_s": min(times), "peak_memory_gb": peak, "threads": torch.get_num_threads()}


def main() -> int:
    """Print the figures with their limits; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calibration")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--autograd", action="store_true", help="measure plain autograd instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    figures = measure(options.calibration, options.repeats, options.autograd)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            limit = f"  at most {AT_MOST[name]}" if name in AT_MOST else ""
            print(f"{name:<16}{value:8.2f}{limit}")
    return int(any(figures[name] > limit for name, limit in AT_MOST.items()))


if __name__ == "__main__":
    sys.exit(main())
