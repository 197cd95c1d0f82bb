"""Speed and memory of the tiled blur with published kernels, as ratios measured in one run.

    python benchmarks/blur.py CALIBRATION [--repeats 5] [--json] [--save]

CALIBRATION is a calibration file or the published folder. Blurs twelve layers of 1008 x 1344 px for
both views and compares with (a) one forward and inverse FFT of a 24 x 1008 x 1344 stack, which
moves the same amount of data, and (b) direct convolution of each tile. Times are the best of all
repeats; the exit status is 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

# Waiting threads would otherwise spin and slow down the others on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from torch import Tensor

from measured import gigabytes
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout
from results_file import add_save_option, save_figures

LAYERS, HEIGHT, WIDTH = 12, 1008, 1344
SCALES = np.linspace(1.3, 0.1, LAYERS)
BLEND_PX = 32
AT_MOST = {"hard / fft": 2.0, "peak memory GB": 2.0}
AT_LEAST = {"direct / hard": 15.0}


def layer_kernels(calibration: str) -> list[KernelGrid]:
    """The calibrated kernels at the scale of every layer."""
    lens = load_calibration(calibration)
    grid = lens.kernel_grid()
    return [grid.scaled(float(scale)) for scale in SCALES]


def best_times(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest wall time of each task; tasks alternate, so that the load affects all alike."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def direct_blur(layers: Tensor, kernels: list[KernelGrid], layout: TileLayout) -> Tensor:
    """Direct convolution with hard tile selection."""
    out = layers.new_empty(LAYERS, 2, *layout.shape)
    for layer, grid, views in zip(layers, kernels, out, strict=True):
        top, left = (size // 2 for size in grid.size_px)
        padded = torch.nn.functional.pad(layer[None], (left, left, top, top), mode="replicate")
        flipped = grid.kernels.flip(-1, -2)  # conv2d correlates
        for tile, kernel in enumerate(flipped):
            row, col = divmod(tile, grid.cols)
            y, y_end = layout.row_edges[row : row + 2]
            x, x_end = layout.col_edges[col : col + 2]
            window = padded[..., y : y_end + 2 * top, x : x_end + 2 * left]
            views[:, y:y_end, x:x_end] = torch.nn.functional.conv2d(window, kernel[:, None])[0]
    return out


def peak_memory_gb(calibration: str) -> float:
    """Peak memory of a new process that loads the kernels and blurs once."""
    command = [sys.executable, __file__, calibration, "--only-blur"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def blur_once(calibration: str) -> float:
    """Blur in this process and return its peak memory in GB."""
    kernels = layer_kernels(calibration)
    layout = TileLayout.regular(HEIGHT, WIDTH, kernels[0].rows, kernels[0].cols)
    TiledBlur(kernels, layout, blend_px=0)(torch.rand(LAYERS, 1, HEIGHT, WIDTH))
    return gigabytes(resource.getrusage(resource.RUSAGE_SELF))


def measure(calibration: str, repeats: int) -> dict[str, float]:
    """Times in seconds, ratios and peak memory."""
    memory = peak_memory_gb(calibration)  # first: a child process inherits its parent's peak
    kernels = layer_kernels(calibration)
    layout = TileLayout.regular(HEIGHT, WIDTH, kernels[0].rows, kernels[0].cols)
    layers = torch.rand(LAYERS, 1, HEIGHT, WIDTH)
    stack = torch.rand(2 * LAYERS, HEIGHT, WIDTH)
    hard, blended = (TiledBlur(kernels, layout, blend) for blend in (0, BLEND_PX))
    error = (hard(layers)[:, :, 0] - direct_blur(layers, kernels, layout)).abs().max()
    assert error < 1e-4, "tiled blur and direct convolution disagree"
    times = best_times(
        {
            "fft": lambda: torch.fft.irfft2(torch.fft.rfft2(stack), s=(HEIGHT, WIDTH)),
            "hard": lambda: hard(layers),
            "blended": lambda: blended(layers),
        },
        repeats,
    )
    times |= best_times({"direct": lambda: direct_blur(layers, kernels, layout)}, 2)
    return {
        **{f"{name} s": value for name, value in times.items()},
        "hard / fft": times["hard"] / times["fft"],
        "blended / fft": times["blended"] / times["fft"],
        "direct / hard": times["direct"] / times["hard"],
        "peak memory GB": memory,
    }


def main() -> int:
    """Print the figures with their limits; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calibration", help="calibration file or published folder")
    parser.add_argument("--repeats", type=int, default=5, help="runs to take the best of")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    parser.add_argument("--only-blur", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_blur:
        print(blur_once(options.calibration))
        return 0
    figures = measure(options.calibration, options.repeats)
    if options.save:
        save_figures("blur", figures)
    if options.json:
        print(json.dumps(figures))
    else:
        limits = {name: f"  at most {value}" for name, value in AT_MOST.items()}
        limits |= {name: f"  at least {value}" for name, value in AT_LEAST.items()}
        for name, value in figures.items():
            print(f"{name:<16}{value:8.3f}{limits.get(name, '')}")
    missed = any(figures[name] > limit for name, limit in AT_MOST.items())
    return int(missed or any(figures[name] < limit for name, limit in AT_LEAST.items()))


if __name__ == "__main__":
    sys.exit(main())
