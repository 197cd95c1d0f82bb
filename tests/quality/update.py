"""Measure the scores that the quality tests compare with, and store them in floors.json.

    python tests/quality/update.py [--dry-run]

Run it after a change that is meant to alter results, look at the differences it prints, and
commit the file with that change. Real scenes are measured where DPDEBLUR_TEST_DATA names the
folder of the published data; otherwise their stored scores are kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import torch
from floor_scenes import FLOORS_FILE, REAL_CASES, SYNTHETIC, SYNTHETIC_CASES, real_scene, scores_of

from napari_dpdeblur import __version__

Floors = dict[str, dict[str, float]]


def main() -> None:
    """Measure, print, and write unless it is a dry run."""
    parser = argparse.ArgumentParser(description="Update the floors of the quality tests.")
    parser.add_argument("--dry-run", action="store_true", help="print only")
    is_dry = parser.parse_args().dry_run
    before: Floors = json.loads(FLOORS_FILE.read_text())["floors"] if FLOORS_FILE.exists() else {}
    floors = dict(before)
    for case, scores in measured():
        floors[case] = {name: round(value, 5) for name, value in scores.items()}
        _print_changes(case, before.get(case, {}), floors[case])
    if not is_dry:
        content = {"made": _circumstances(), "floors": floors}
        FLOORS_FILE.write_text(json.dumps(content, indent=2) + "\n")


def measured() -> Iterator[tuple[str, dict[str, float]]]:
    """Scores of every case whose data is at hand."""
    torch.set_num_threads(1)
    for name, preset in SYNTHETIC_CASES:
        yield f"{name} {preset}", scores_of(SYNTHETIC[name](), preset)
    data = os.environ.get("DPDEBLUR_TEST_DATA")
    for name, preset in REAL_CASES if data else ():
        yield f"{name} {preset}", scores_of(real_scene(Path(str(data)), name), preset)


def _print_changes(case: str, before: dict[str, float], now: dict[str, float]) -> None:
    print(case)
    for name, value in now.items():
        change = f"{value - before[name]:+.5f}" if name in before else "new"
        print(f"  {name:<28}{value:10.5f}  {change}")


def _circumstances() -> dict[str, str]:
    return {
        "command": "python tests/quality/update.py",
        "date": datetime.date.today().isoformat(),
        "version": __version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    main()
