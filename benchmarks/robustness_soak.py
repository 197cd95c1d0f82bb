"""All long robustness tests as one command: `tox -e soak`.

    python benchmarks/robustness_soak.py [--quick] [--only fuzz kill] [--data DATA] [--jobs 2]
                                         [--save]

Kills, full disks, damaged files (mutations of seeds of every format), places and permissions,
memory, checkpoints, batches and false alarms of the calibration. DATA is a folder with
`pixel4/`, on which the verdicts on doubtful fits and the confidence are checked, too. Each part
prints its figures, a table at the end says which promises were kept, and the exit status is the
number of parts that broke one. Takes about an hour on two idle cores; `--quick` takes minutes.
With `--jobs`, so many parts run at a time, but those that measure time run alone, at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from results_file import add_save_option

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "batch"
TIMED = ("checkpoint", "batch")  # parts that need an idle machine


@dataclass(frozen=True)
class Part:
    """A script with the options of its long and its quick version."""

    name: str
    promise: str
    script: str
    options: list[str]
    quick: list[str]


PARTS = (
    Part(
        "fuzz",
        "damaged files are refused in one sentence",
        "robustness_fuzz.py",
        ["--count", "20000"],
        ["--count", "200"],
    ),
    Part(
        "places",
        "odd names, links, permissions and streams are handled",
        "robustness_places.py",
        ["--rounds", "20"],
        ["--rounds", "1"],
    ),
    Part(
        "alarms",
        "no false alarm of a calibration",
        "calibration_alarms.py",
        ["--captures", "50"],
        ["--captures", "3"],
    ),
    Part(
        "kill",
        "a killed fit resumes and leaves a whole run or none",
        "robustness_kill.py",
        ["--moments", "200"],
        ["--moments", "10"],
    ),
    Part(
        "disk",
        "a full disk leaves existing files unchanged",
        "robustness_disk.py",
        ["--trials", "200"],
        ["--trials", "20"],
    ),
    Part(
        "memory",
        "fits release their memory and need what was estimated",
        "robustness_memory.py",
        ["--fits", "10", "--estimates"],
        ["--fits", "4"],
    ),
    Part(
        "checkpoint",
        "checkpoints cost little time",
        "robustness_checkpoint.py",
        ["--size", "1008", "1344"],
        ["--size", "192", "256"],
    ),
    Part(
        "batch",
        "two workers share the work (needs two idle cores)",
        "robustness_batch.py",
        ["--captures", "20"],
        ["--captures", "6", "--size", "96", "128"],
    ),
)


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    name: str
    promise: str
    is_kept: bool
    time_s: float

    def __str__(self) -> str:
        state = "kept" if self.is_kept else "BROKEN"
        return f"{self.name:12} {state:7} {self.time_s:7.0f} s  {self.promise}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every part and print the table; returns how many of them broke a promise."""
    chosen = _parse(arguments)
    parts = [
        part
        for part in commands(chosen.quick, chosen.data, chosen.save)
        if not chosen.only or part[0] in chosen.only
    ]
    timed = [part for part in parts if chosen.jobs > 1 and part[0] in TIMED]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        outcomes = list(pool.map(lambda part: _run(*part), [p for p in parts if p not in timed]))
    outcomes += [_run(*part) for part in timed]
    print("\n" + "\n".join(map(str, outcomes)))
    broken = sum(not outcome.is_kept for outcome in outcomes)
    print(f"{len(outcomes)} parts, {broken} broken")
    return broken


def commands(is_quick: bool, data: Path | None, save: bool) -> list[tuple[str, str, list[str]]]:
    """Name, promise and command of every part."""
    kept = ["--save"] * save
    found = []
    for part in PARTS:
        options = part.quick if is_quick else part.options
        command = [sys.executable, str(HERE / part.script), *options, *kept]
        found.append((part.name, part.promise, command))
    if data is not None:
        doubtful = [str(HERE / "doubtful_fits.py"), str(data), "--check", *kept]
        reliable = [str(HERE / "reliability.py"), str(data / "pixel4"), "--check", *kept]
        found.append(("doubtful", "wrong input is named", [sys.executable, *doubtful]))
        found.append(("confidence", "confidence is calibrated", [sys.executable, *reliable]))
    pytest = [sys.executable, "-m", "pytest", "-q", str(TESTS)]
    tests = pytest if is_quick else [*pytest, "--run-slow"]
    return [*found, ("cluster", "batches survive dead workers and resume", tests)]


def _run(name: str, promise: str, command: list[str]) -> Outcome:
    """Run one part; its output is printed when it ends, so that parts do not mix theirs."""
    print(f"=== started: {name}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        status = subprocess.run(command, check=False, stdout=output, stderr=output).returncode
        output.seek(0)
        printed = output.read()
    outcome = Outcome(name, promise, status == 0, time.monotonic() - start)
    words = " ".join(Path(word).name for word in command[1:])
    print(f"\n=== {words}\n{printed}=== {outcome}", flush=True)
    return outcome


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="All long robustness tests.")
    parser.add_argument(
        "--quick", "--short", action="store_true", help="fewer trials; takes minutes"
    )
    parser.add_argument("--only", nargs="+", help="names of parts, as in the table; default: all")
    parser.add_argument("--data", type=Path, help="folder with pixel4/, for doubtful fits")
    parser.add_argument("--jobs", type=int, default=1, help="parts that run at a time; default 1")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
