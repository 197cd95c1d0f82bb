"""Cancellation latency of a fit: the longest time between two checks for cancellation.

    python benchmarks/cancel.py [--size HEIGHT WIDTH] [--presets standard preview paper] [--save]

Fits a synthetic capture once per preset. A cancelled fit stops at its next check, so the longest
gap is the longest wait after pressing Cancel. `paper` runs only a few steps, which are all alike.
The exit status is 1 when a gap is longer than a second; the limit assumes idle cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from napari_dpdeblur.cancellation import Control
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.fitting import FitSettings, fit_events
from results_file import add_save_option, save_figures

WARM_UP_SIZE = (96, 128)
PAPER_STEPS = 3
AT_MOST_S = 1.0


class WatchedControl(Control):
    """Records the longest time between two checks in each stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = "preparation"
        self.longest_s: dict[str, float] = {}
        self._last = time.monotonic()

    def check(self) -> None:
        self.note()
        super().check()

    def note(self) -> None:
        now = time.monotonic()
        gap = now - self._last
        self.longest_s[self.stage] = max(self.longest_s.get(self.stage, 0.0), gap)
        self._last = now


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the longest gap of each stage; 1 when one is too long."""
    options = _parse(arguments)
    warm_up, simulation = simulate(*WARM_UP_SIZE), simulate(*options.size)
    found = {}
    for preset in options.presets:
        longest_gaps(warm_up, preset)
        found[preset] = longest_gaps(simulation, preset)
        if not options.json:
            print(f"{preset}: {_line(found[preset])}", flush=True)
    if options.json:
        print(json.dumps(found, indent=2))
    if options.save:
        figures = {p: {**gaps, "longest_s": max(gaps.values())} for p, gaps in found.items()}
        save_figures("cancel_{}x{}".format(*options.size), figures)
    return int(any(max(gaps.values()) > AT_MOST_S for gaps in found.values()))


def _line(gaps: dict[str, float]) -> str:
    each = ", ".join(f"{stage} {gap:.2f}" for stage, gap in gaps.items())
    return f"longest {max(gaps.values()):.2f} s, at most {AT_MOST_S} ({each})"


def longest_gaps(simulation: Simulation, preset: str) -> dict[str, float]:
    """Longest time in s between two checks, by the stage in which it began."""
    control = WatchedControl()
    settings = FitSettings.of({"preset": preset, "steps": PAPER_STEPS})
    for event in fit_events(simulation.capture, simulation.calibration, settings, control=control):
        control.stage = event.stage
    control.stage = "end"
    control.note()
    return control.longest_s


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Cancellation latency of a fit.")
    parser.add_argument("--size", nargs=2, type=int, default=(1008, 1344), metavar=("H", "W"))
    parser.add_argument(
        "--presets", nargs="+", default=["standard"], choices=["standard", "preview", "paper"]
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
