"""Quality, time and memory of the fit on a folder of scenes in the published layout.

    python benchmarks/quality.py DATA [--preset standard] [--scenes 001 005] [--check] [--save]

DATA contains `NNN_left.png`, `NNN_right.png`, `calibration/`, `gt_all_in_focus_im/` and
`gt_defocus_map/`. Each scene is fitted through the command line. The time is that from the files to
the finished run folder, the memory is the peak of that process. Arguments after `--` are passed to
the fit.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from measured import run_measured
from napari_dpdeblur.evaluation import defocus_path, evaluate_run, sharp_path
from napari_dpdeblur.evaluation.comparison import tables
from napari_dpdeblur.evaluation.scoring import LARGER_IS_BETTER
from results_file import add_save_option, save_figures

HEADINGS = tables.HEADINGS | {"memory_gb": "peak GB"}
DIGITS = tables.DIGITS | {"memory_gb": 2}

# Limits for the mean of the six development scenes on two CPU cores.
FLOORS = {
    "preview": (26.7, 0.76, 0.0275, 0.053, 0.077, 0.12, 15.0, 2.0),
    "standard": (28.0, 0.81, 0.024, 0.043, 0.066, 0.10, 60.0, 4.0),
}


@dataclass(frozen=True)
class SceneScore:
    """One row of the table."""

    psnr_db: float
    ssim: float
    mae: float
    aiwe1: float
    aiwe2: float
    one_minus_spearman: float
    time_s: float
    memory_gb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when --check finds a missed limit."""
    options = _parse(arguments)
    scenes = options.scenes or find_scenes(options.data)
    if not scenes:
        print(f"No NNN_left.png in {options.data}.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="dpdeblur-quality-") as scratch:
        runs = options.keep or Path(scratch)
        scores = {scene: _report_scene(options, scene, runs) for scene in scenes}
    summary = mean_score(list(scores.values()))
    missed = missed_floors(options.preset, summary) if options.check else []
    rows = {scene: asdict(score) for scene, score in scores.items()}
    if options.save:
        save_figures(f"quality_{options.preset}", {**asdict(summary), "scenes": rows})
    if options.json:
        report = {"preset": options.preset, "scenes": rows, "mean": asdict(summary)}
        print(json.dumps(report | ({"missed": missed} if options.check else {}), indent=2))
    else:
        print(format_table(scores, summary))
        for sentence in missed:
            print(sentence)
    return 1 if missed else 0


def find_scenes(data: Path) -> list[str]:
    """Names of the scenes that have both views."""
    names = [path.name.removesuffix("_left.png") for path in sorted(data.glob("*_left.png"))]
    return [name for name in names if (data / f"{name}_right.png").is_file()]


def run_scene(
    data: Path, scene: str, preset: str, run: Path, extra: Sequence[str] = ()
) -> SceneScore:
    """Fit one scene in a separate process and evaluate the run folder."""
    command = ["fit", str(data / f"{scene}_left.png")]
    command += ["--calibration", str(data / "calibration"), "--output", str(run)]
    command += ["--preset", preset, *extra]
    time_s, memory_gb = run_measured(command)
    report = evaluate_run(run, sharp_path(data, scene), defocus_path(data, scene))
    numbers = report["image"] | report["defocus"] | {"time_s": time_s, "memory_gb": memory_gb}
    return SceneScore(**{entry.name: numbers[entry.name] for entry in fields(SceneScore)})


def mean_score(scores: Sequence[SceneScore]) -> SceneScore:
    """Mean of every column but the memory, whose maximum is what a machine needs."""
    rows = [asdict(score) for score in scores]
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    return SceneScore(**means | {"memory_gb": max(row["memory_gb"] for row in rows)})


def missed_floors(preset: str, score: SceneScore) -> list[str]:
    """A message for each number that misses its limit."""
    if preset not in FLOORS:
        return []
    missed = []
    for (name, value), floor in zip(asdict(score).items(), FLOORS[preset], strict=True):
        good = value >= floor if name in LARGER_IS_BETTER else value <= floor
        if not good or not math.isfinite(value):
            missed.append(f"{HEADINGS[name]} is {value:.4g}, required for {preset}: {floor}")
    return missed


def format_table(scores: dict[str, SceneScore], summary: SceneScore) -> str:
    lines = [_heading()]
    lines += [_row(scene, score) for scene, score in scores.items()]
    return "\n".join([*lines, _row("mean", summary)])


def _heading() -> str:
    return "scene   " + "".join(f"{heading:>9}" for heading in HEADINGS.values())


def _row(name: str, score: SceneScore) -> str:
    cells = [f"{value:9.{DIGITS.get(key, 4)}f}" for key, value in asdict(score).items()]
    return f"{name:<8}" + "".join(cells)


def _report_scene(options: argparse.Namespace, scene: str, runs: Path) -> SceneScore:
    """Fit a scene and print its row at once: a folder of scenes takes minutes."""
    score = run_scene(options.data, scene, options.preset, runs / scene, options.fit_arguments)
    print(_row(scene, score), file=sys.stderr, flush=True)
    return score


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Quality, time and memory of the fit.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--scenes", nargs="+", help="scene names, such as 001; default: all")
    parser.add_argument("--keep", type=Path, help="keep the run folders in this folder")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_save_option(parser)
    given = list(sys.argv[1:] if arguments is None else arguments)
    split = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:split])
    options.fit_arguments = given[split + 1 :]
    return options


if __name__ == "__main__":
    sys.exit(main())
