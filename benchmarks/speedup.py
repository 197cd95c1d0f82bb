"""Speed-up of the standard preset over the published schedule, measured in one run.

    python benchmarks/speedup.py DATA [--scene 005] [--repeats 3] [--json] [--save]

DATA contains scenes and `calibration/` in the published layout. Times one step of the published
schedule at 1008 x 1344 px with 12 layers (best of the repeats), then one fit of the standard preset
through the command line, from the files to the run folder. The ratio is 10,000 steps to one fit.
The exit status is 1 when it is below the limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import paper_step
import quality
from results_file import add_save_option, save_figures

PAPER_STEPS = 10_000
AT_LEAST = 1000.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when the ratio is below the limit."""
    options = _parse(arguments)
    calibration = str(options.data / "calibration")
    step_s = paper_step.measure(calibration, options.repeats, autograd=False)["step_s"]
    scene = options.scene or quality.find_scenes(options.data)[0]
    with tempfile.TemporaryDirectory(prefix="dpdeblur-speedup-") as scratch:
        score = quality.run_scene(options.data, scene, "standard", Path(scratch) / "run")
    figures = {
        "paper_step_s": step_s,
        "paper_10000_steps_h": PAPER_STEPS * step_s / 3600,
        "standard_s": score.time_s,
        "ratio": PAPER_STEPS * step_s / score.time_s,
    }
    if options.save:
        save_figures("speedup", figures)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            limit = f"  at least {AT_LEAST:g}" if name == "ratio" else ""
            print(f"{name:<22}{value:10.2f}{limit}")
    return int(figures["ratio"] < AT_LEAST)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="10,000 paper steps against one standard fit.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--scene", help="name of the scene; default: the first")
    parser.add_argument("--repeats", type=int, default=3, help="paper steps to take the best of")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
