"""Time of a fit in FFT passes, of this version and of another one, measured in one run.

    python benchmarks/passes.py DATA [--against SRC] [--presets standard preview] [--scene 005]
                                [--threads 1 2] [--repeats 2] [--check] [--save]

DATA contains scenes and `calibration/` in the published layout; SRC is the `src` folder of another
version, such as one of `git worktree`. One pass is a forward and an inverse FFT of 24 images of
1008 x 1344 px: machines and their load differ, ratios within one run do not. Each fit goes through
the command line, from the files to the run folder; versions take turns and the best repeat counts.
Processor time is given in passes, too: it hardly depends on what else the machine computes. With
`--threads`, this version is measured with each number of threads.
With `--check` the exit status is 1 unless this version takes at most a third of the other's time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import yaml

import quality
from measured import CODE
from results_file import add_save_option, save_figures

STACK = (24, 1008, 1344)
MOST_SHARE = 1 / 3  # of the other version's time
OWN = Path(__file__).resolve().parents[1] / "src"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print times in passes; 1 when --check finds a preset that is not three times as fast."""
    options = _parse(arguments)
    scene = options.scene or quality.find_scenes(options.data)[0]
    versions = {"this": (OWN, {})} | {
        f"{count} thread{'s' * (count > 1)}": (OWN, {"OMP_NUM_THREADS": str(count)})
        for count in options.threads
    }
    if options.against:
        versions["other"] = (options.against, {})
    figures: dict[str, object] = {}
    missed = False
    for preset in options.presets:
        best = measured(options.data, scene, preset, versions, options.repeats)
        share = best["this"]["passes"] / best["other"]["passes"] if options.against else None
        cpu_share = best["this"]["cpu_passes"] / best["other"]["cpu_passes"] if share else None
        for name, found in best.items():
            stages = ", ".join(f"{stage} {passes:.1f}" for stage, passes in found["stages"].items())
            print(
                f"{preset:<9} {name:<9} {found['passes']:6.1f} passes, processor time "
                f"{found['cpu_passes']:6.1f}  ({stages})",
                flush=True,
            )
        if share is not None:
            print(
                f"{preset:<9} takes {share:.2f} of the other version's time, "
                f"{cpu_share:.2f} of its processor time"
            )
            missed |= share > MOST_SHARE
        figures[preset] = {**best, "share_of_other": share, "cpu_share_of_other": cpu_share}
    if options.save:
        save_figures("passes", figures)
    return 1 if options.check and missed else 0


def measured(
    data: Path,
    scene: str,
    preset: str,
    versions: dict[str, tuple[Path, dict[str, str]]],
    repeats: int,
) -> dict[str, dict]:
    """Passes of a fit from the files to the run folder, and of its stages, for each version."""
    best: dict[str, dict] = {}
    for _ in range(repeats):
        for name, (source, variables) in versions.items():
            with tempfile.TemporaryDirectory(prefix="dpdeblur-passes-") as scratch:
                run = Path(scratch) / "run"
                command = ["fit", str(data / f"{scene}_left.png"), "-o", str(run)]
                command += ["--calibration", str(data / "calibration"), "--preset", preset]
                found = _fit(command, {"PYTHONPATH": str(source)} | variables, run)
            if name not in best or found["passes"] < best[name]["passes"]:
                best[name] = found
    return best


def fft_pass_s() -> tuple[float, float]:
    """Seconds of one forward and inverse FFT of the stack, the median of five.

    Of the clock, and of the processors.
    """
    stack = torch.rand(STACK)
    times = []
    for _ in range(5):
        start, used = time.perf_counter(), time.process_time()
        torch.fft.irfft2(torch.fft.rfft2(stack), s=STACK[1:])
        times.append((time.perf_counter() - start, time.process_time() - used))
    clock, processors = (sorted(each)[2] for each in zip(*times, strict=True))
    return clock, processors


def _fit(command: Sequence[str], variables: dict[str, str], run: Path) -> dict:
    pass_s, pass_cpu_s = fft_pass_s()
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", CODE, *command],
        check=True,
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    timings = yaml.safe_load((run / "run.yaml").read_text("utf-8"))["timings_s"]
    stages = {stage: seconds / pass_s for stage, seconds in timings.items()}
    return {
        "passes": elapsed / pass_s,
        "cpu_passes": cpu_s / pass_cpu_s,
        "pass_s": pass_s,
        "pass_cpu_s": pass_cpu_s,
        "time_s": elapsed,
        "cpu_s": cpu_s,
        "stages": stages,
    }


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time of a fit in FFT passes.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--against", type=Path, help="src folder of another version")
    parser.add_argument("--presets", nargs="+", default=["standard", "preview"])
    parser.add_argument("--scene", help="scene name; default: the first")
    parser.add_argument("--threads", type=int, nargs="+", default=[], help="numbers of threads")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="fail unless three times as fast")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
