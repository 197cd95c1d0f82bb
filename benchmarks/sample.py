"""The sample that people see first: time to make it, and how well a fit recovers it.

    python benchmarks/sample.py [RUN] [--preset standard] [--check] [--save]

The time is the best of three in this process, wall clock and processor. The capture is fitted with
its own calibration, or RUN is a finished run folder of it; image and map are compared with the
truth, in one unit. Limits: 3 s, 30 dB, AIWE(1) 0.04.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from napari_dpdeblur.datasets.synthetic.simulation import Sample, sample
from napari_dpdeblur.evaluation.ground_truth import SIGNED
from napari_dpdeblur.evaluation.metrics import defocus_scores, image_scores
from napari_dpdeblur.fitting import fit
from napari_dpdeblur.results import Result, read_run
from results_file import add_save_option, save_figures

REPEATS = 3
LIMITS = {"time_s": 3.0, "aiwe1": 0.04}
AT_LEAST = {"psnr_db": 30.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when --check finds a missed limit."""
    options = _parse(arguments)
    scene, figures = timed()
    if options.run is None:
        begin = time.perf_counter(), time.process_time()
        result = fit(scene.capture, scene.calibration, preset=options.preset)
        ended = time.perf_counter(), time.process_time()
        figures |= {"fit_s": ended[0] - begin[0], "fit_cpu_s": ended[1] - begin[1]}
    else:
        result = read_run(options.run)
    figures |= scores(scene, result)
    print("\n".join(f"{name:<22}{value:.4f}" for name, value in figures.items()))
    if options.save:
        save_figures(f"sample_{options.preset}", figures)
    missed = missed_limits(figures)
    if options.check:
        print("\n".join(missed) or "All limits are met.")
    return 1 if options.check and missed else 0


def timed() -> tuple[Sample, dict[str, float]]:
    """The sample, and the shortest times that it took."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter(), time.process_time()
        scene = sample()
        times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    wall_s, cpu_s = (min(column) for column in zip(*times, strict=True))
    return scene, {"time_s": wall_s, "cpu_s": cpu_s}


def scores(scene: Sample, result: Result) -> dict[str, float]:
    """Scores of a result, and of the capture itself."""
    views = scene.calibration.prepare(scene.capture)
    image = image_scores(np.asarray(result.all_in_focus), scene.all_in_focus)
    everywhere = np.ones_like(scene.defocus_map)
    defocus = np.asarray(result.defocus_map)
    found = defocus_scores(defocus, scene.defocus_map, everywhere, SIGNED)
    return {
        "capture_psnr_db": image_scores(views.mean(0), scene.all_in_focus).psnr_db,
        "psnr_db": image.psnr_db,
        "ssim": image.ssim,
        "mae": image.mae,
        "aiwe1": found.aiwe1,
        "aiwe2": found.aiwe2,
        "one_minus_spearman": found.one_minus_spearman,
        "right_sign": found.right_sign or 0.0,
    }


def missed_limits(figures: dict[str, float]) -> list[str]:
    """One message for each limit that is missed."""
    low = [f"{name} is {figures[name]:.4g}, required: at least {limit:g}"
           for name, limit in AT_LEAST.items() if not figures[name] >= limit]  # fmt: skip
    high = [f"{name} is {figures[name]:.4g}, required: at most {limit:g}"
            for name, limit in LIMITS.items() if not figures[name] <= limit]  # fmt: skip
    return low + high


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the sample.")
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="finished run of it")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
