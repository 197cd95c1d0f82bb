"""Ringing and noise of the all-in-focus image where the ground truth is flat, in percent.

    python benchmarks/ripples.py DATA RUNS [--save]

RUNS contains one run folder per scene, as written by `benchmarks/quality.py DATA --keep RUNS`.
Prints the rms of the image band-passed between Gaussians of 1.5 and 6 px, relative to the local
brightness, where the ground truth hardly changes within 31 px.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.evaluation import sharp_path
from napari_dpdeblur.evaluation.ground_truth import load_sharp
from napari_dpdeblur.results import read_image
from results_file import add_save_option, save_figures

FLAT_PX, FLAT_CONTRAST = 31, 0.06
FINE_PX, COARSE_PX = 1.5, 6.0
DARKEST = 0.1  # of the mean brightness; darker pixels are divided by this


def ripples_percent(image: np.ndarray, truth: np.ndarray) -> float:
    """Relative rms of the band-passed image (H, W) where the truth is flat."""
    box = (FLAT_PX, FLAT_PX)
    mean = cv2.blur(truth, box)
    deviation = np.sqrt(np.maximum(cv2.blur(truth**2, box) - mean**2, 0))
    brightness = np.maximum(mean, DARKEST * truth.mean())
    fine, coarse = (cv2.GaussianBlur(image, (0, 0), sigma) for sigma in (FINE_PX, COARSE_PX))
    relative = ((fine - coarse) / brightness)[deviation < FLAT_CONTRAST * brightness]
    return 100 * float(np.sqrt(np.mean(relative**2)))


def main() -> None:
    """Print one line per scene, and the mean."""
    parser = argparse.ArgumentParser(description="Ringing and noise on flat surfaces.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("runs", type=Path, help="folder of run folders named after the scenes")
    add_save_option(parser)
    options = parser.parse_args()
    found = []
    for run in sorted(path for path in options.runs.iterdir() if path.is_dir()):
        image = read_image(run / "all_in_focus.tif").mean(0)
        found.append(ripples_percent(image, load_sharp(sharp_path(options.data, run.name)).mean(0)))
        print(f"{run.name:<8}{found[-1]:6.2f} %", flush=True)
    print(f"{'mean':<8}{np.mean(found):6.2f} %")
    if options.save:
        save_figures("ripples", {"mean_percent": float(np.mean(found))})


if __name__ == "__main__":
    main()
