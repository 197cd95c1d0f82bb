"""All long robustness tests: `tox -e soak`.

    python benchmarks/robustness_soak.py [--short] [--save]

Each part prints its figures; the exit status is the number of parts that broke a promise. Takes
about an hour on two idle cores; `--short` takes minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from results_file import add_save_option

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "batch"
# Script, options of the long and of the short version; None: not part of the short one.
PARTS: tuple[tuple[str, list[str], list[str] | None], ...] = (
    ("robustness_fuzz.py", ["--count", "20000"], ["--count", "200"]),
    ("robustness_kill.py", ["--moments", "200"], ["--moments", "10"]),
    ("robustness_disk.py", ["--trials", "200"], ["--trials", "20"]),
    ("robustness_memory.py", ["--fits", "10", "--estimates"], ["--fits", "4"]),
    # A fit is cut into bands from some megapixels on: there is no short version.
    ("seams.py", ["--size", "3024", "4032"], None),
    ("robustness_checkpoint.py", ["--size", "1008", "1344"], ["--size", "192", "256"]),
    ("robustness_batch.py", ["--captures", "20"], ["--captures", "6", "--size", "96", "128"]),
)


def main() -> int:
    """Run every part; returns how many of them broke a promise."""
    parser = argparse.ArgumentParser(description="All long robustness tests.")
    parser.add_argument("--short", action="store_true", help="fewer trials; takes minutes")
    add_save_option(parser)
    chosen = parser.parse_args()
    short, save = chosen.short, ["--save"] * chosen.save
    failed = 0
    for script, long_options, short_options in PARTS:
        options = short_options if short else long_options
        if options is not None:
            failed += _run([sys.executable, str(HERE / script), *options, *save])
    pytest = [sys.executable, "-m", "pytest", "-q", str(TESTS)]
    failed += _run(pytest if short else [*pytest, "--run-slow"])
    return failed


def _run(command: list[str]) -> bool:
    print(f"\n=== {' '.join(Path(word).name for word in command[1:])}", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    print(f"=== {'kept' if status == 0 else 'BROKEN'}, {time.monotonic() - start:.0f} s")
    return status != 0


if __name__ == "__main__":
    sys.exit(main())
