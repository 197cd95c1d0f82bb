"""Time of a batch with two workers relative to one worker.

    python benchmarks/robustness_batch.py [--captures 20] [--size 240 320] [--json] [--save]

Captures are fitted with the preset `preview` and one thread per worker, so that one worker uses one
core and two workers two: this measures the overhead of a batch, not the gain over one worker that
uses all cores. Workers load torch before the measurement starts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from napari_dpdeblur.batch import make_plan
from napari_dpdeblur.batch.cluster import connected
from napari_dpdeblur.batch.run import run_plan
from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.settings import FitSettings
from results_file import add_save_option, save_figures

MAX_RATIO = 0.65


def load_torch() -> str:
    import napari_dpdeblur.fitting.run

    return str(napari_dpdeblur.fitting.run.__name__)


def write_captures(folder: Path, count: int, size: tuple[int, int]) -> Path:
    """Write captures and their calibration; returns the path of the calibration."""
    for seed in range(count):
        capture = render_capture(synthetic_scene(*size, seed=seed), pixel_aspect=2, seed=seed)
        write_pgm_pair(folder, f"scene{seed:03d}", *capture.raw[:, 0])
    path = folder.with_suffix(".dpcal")
    save_calibration(replace(synthetic_calibration(*size), vignetting=None), path)
    return path


def time_of(workers: int, captures: Path, calibration: Path, output: Path) -> float:
    """Seconds from the plan to the final index."""
    settings = FitSettings(preset="preview", device="cpu", threads=1)
    with connected("local", workers) as client:
        client.run(load_torch)
        start = time.monotonic()
        plan = make_plan([captures], calibration, output, settings)
        index = run_plan(plan, client)
        elapsed_s = time.monotonic() - start
    if index.count("done") != len(plan.asked):
        sys.exit("a capture failed")
    return elapsed_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the times; 1 when the ratio is above the limit."""
    parser = argparse.ArgumentParser(description="Time of a batch with two workers and with one.")
    parser.add_argument("--captures", type=int, default=20, help="number of captures")
    parser.add_argument("--size", nargs=2, type=int, default=(240, 320), metavar=("H", "W"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dpdeblur-batch-") as scratch:
        captures = Path(scratch) / "captures"
        captures.mkdir()
        calibration = write_captures(captures, options.captures, tuple(options.size))
        times = {
            workers: time_of(workers, captures, calibration, Path(scratch) / f"out{workers}")
            for workers in (1, 2)
        }
    ratio = times[2] / times[1]
    figures = {"threads_each": 1, "one_s": times[1], "two_s": times[2], "ratio": ratio}
    if options.save:
        save_figures("robustness_batch", {**figures, "ratio_percent": 100 * ratio})
    if options.json:
        print(json.dumps(figures))
    else:
        print(
            f"one thread per worker: one worker {times[1]:.1f} s, two workers {times[2]:.1f} s: "
            f"{ratio:.0%}, at most {MAX_RATIO:.0%}"
        )
    return int(ratio > MAX_RATIO)


if __name__ == "__main__":
    sys.exit(main())
