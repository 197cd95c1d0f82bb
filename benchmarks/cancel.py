"""How soon a fit can be cancelled: the longest time between two looks at its control.

    python benchmarks/cancel.py [--size HEIGHT WIDTH] [--presets standard preview paper] [--json]

A synthetic capture is fitted once per preset. A fit ends at its next look at the control, so the
longest gap is the longest that a user who presses Cancel may have to wait. `paper` makes a few of
its steps only: they are all alike. The exit status is 1 when a gap is longer than a second; that
limit is meant for cores that nobody else uses.
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

WARM_UP_SIZE = (96, 128)
PAPER_STEPS = 3
AT_MOST_S = 1.0


class WatchedControl(Control):
    """Keeps the longest time between two checks of each stage."""

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
    """Print the longest gap of each stage; 1 if any is too long."""
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
    parser = argparse.ArgumentParser(description="How soon a fit can be cancelled.")
    parser.add_argument("--size", nargs=2, type=int, default=(1008, 1344), metavar=("H", "W"))
    parser.add_argument(
        "--presets", nargs="+", default=["standard"], choices=["standard", "preview", "paper"]
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
