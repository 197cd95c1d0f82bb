"""Table 2 of the paper: what each term of the objective is good for.

    python benchmarks/ablation.py DATA [--preset standard] [--scenes 001 005] [--crop Y,X,H,W]
                                       [--steps 300] [--json]

DATA holds scenes, `calibration/` and the truth in the published layout. Every scene is fitted with
all terms, without each term in turn (its weight is 0) and without the bias correction; the table
has the mean of the six metrics and of the defocus map over the scenes. `--crop` and, for the paper
preset, `--steps` lower the cost.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# On a busy machine threads that wait would otherwise spin and keep the others from working.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

import quality
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.cli.render import crop_argument
from napari_dpdeblur.evaluation import (
    DefocusTruth,
    defocus_path,
    defocus_scores,
    image_scores,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.fit import FitResult, FitSettings, run_fit

COLUMNS = {
    "psnr_db": "PSNR",
    "ssim": "SSIM",
    "mae": "MAE",
    "aiwe1": "AIWE(1)",
    "aiwe2": "AIWE(2)",
    "one_minus_spearman": "1-|rho|",
    "mean_defocus": "defocus",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "all terms": {},
    "no data": {"weights": {"data": 0}},
    "no auxiliary": {"weights": {"auxiliary": 0}},
    "no intensity": {"weights": {"intensity": 0}},
    "no alpha": {"weights": {"alpha": 0}},
    "no entropy": {"weights": {"entropy": 0}},
    "no bias correction": {"bias_correction": False},
}

Crop = tuple[int, int, int, int]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    scenes = options.scenes or quality.find_scenes(options.data)
    calibration = load_calibration(options.data / "calibration")
    table: dict[str, dict[str, float]] = {}
    if not options.json:
        print(f"{'':<20}" + "".join(f"{heading:>9}" for heading in COLUMNS.values()), flush=True)
    for name, changes in VARIANTS.items():
        settings = FitSettings.of({"preset": options.preset, "steps": options.steps} | changes)
        rows = list(_scores(options.data, scenes, calibration, settings, options.crop))
        table[name] = {key: float(np.mean([row[key] for row in rows])) for key in COLUMNS}
        if not options.json:
            cells = "".join(f"{value:9.4f}" for value in table[name].values())
            print(f"{name:<20}{cells}", flush=True)
    if options.json:
        print(json.dumps({"preset": options.preset, "scenes": scenes, "mean": table}, indent=2))
    return 0


def _scores(
    data: Path,
    scenes: Sequence[str],
    calibration: Calibration,
    settings: FitSettings,
    crop: Crop | None,
) -> Iterator[dict[str, float]]:
    """The figures of one variant, scene by scene."""
    for scene in scenes:
        capture = open_capture(data / f"{scene}_left.png")
        result = run_fit(capture, calibration, settings, crop=crop)
        sharp, truth = load_sharp(sharp_path(data, scene)), load_defocus(defocus_path(data, scene))
        yield _score(result, sharp[(..., *_window(crop))], truth, crop)


def _score(
    result: FitResult, sharp: np.ndarray, truth: DefocusTruth, crop: Crop | None
) -> dict[str, float]:
    window = _window(crop)
    image = image_scores(result.all_in_focus, sharp)
    defocus = defocus_scores(result.defocus_map, truth.defocus[window], truth.confidence[window])
    numbers = {**vars(image), **vars(defocus), "mean_defocus": float(result.defocus_map.mean())}
    return {key: numbers[key] for key in COLUMNS}


def _window(crop: Crop | None) -> tuple[slice, slice]:
    if crop is None:
        return slice(None), slice(None)
    top, left, height, width = crop
    return slice(top, top + height), slice(left, left + width)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What each term of the objective is good for.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--scenes", nargs="+", help="names of the scenes, such as 001; default all")
    parser.add_argument("--crop", type=crop_argument, metavar="Y,X,H,W", help="part of the field")
    parser.add_argument("--steps", type=int, default=300, help="Adam steps (paper)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
