"""Number of checkpoints of a fit, and their share of its time.

    python benchmarks/robustness_checkpoint.py [--size 504 672] [--presets NAME ...] [--save]

Checkpoints are written to disk and synced; every save is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting import Checkpoint, FitSettings, fit
from napari_dpdeblur.fitting.checkpoint import FitState
from results_file import add_save_option, save_figures

MAX_SHARE = 0.03


class CountingCheckpoint(Checkpoint):
    """Counts the saves that were written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.saves = 0
        self.largest_bytes = 0

    def save(self, signature: str, state: FitState) -> None:
        before = self.spent_s
        super().save(signature, state)
        self.saves += self.spent_s > before
        self.largest_bytes = max(self.largest_bytes, self.path.stat().st_size)


@dataclass(frozen=True)
class Cost:
    """The cost of the checkpoints of one fit."""

    preset: str
    saves: int
    largest_mb: float
    saving_s: float
    fit_s: float

    @property
    def share(self) -> float:
        return self.saving_s / self.fit_s


def cost_of(preset: str, size: tuple[int, int], scratch: Path) -> Cost:
    """Measure one fit with checkpoints."""
    capture = render_capture(synthetic_scene(*size, seed=1), pixel_aspect=2)
    settings = FitSettings.of({"preset": preset, "device": "cpu", "steps": 20})
    checkpoint = CountingCheckpoint(scratch / f"{preset}.checkpoint")
    start = time.monotonic()
    fit(capture, synthetic_calibration(*size), settings, checkpoint=checkpoint)
    elapsed_s = time.monotonic() - start
    size_mb = checkpoint.largest_bytes / 1e6
    return Cost(preset, checkpoint.saves, size_mb, checkpoint.spent_s, elapsed_s)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares; 1 when one is above the limit."""
    parser = argparse.ArgumentParser(description="Share of a fit's time spent on checkpoints.")
    parser.add_argument("--size", nargs=2, type=int, default=(504, 672), metavar=("H", "W"))
    parser.add_argument("--presets", nargs="+", default=["standard", "preview"])
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dpdeblur-checkpoint-") as scratch:
        costs = [cost_of(p, tuple(options.size), Path(scratch)) for p in options.presets]
    if options.save:
        figures = {c.preset: {**asdict(c), "share_percent": 100 * c.share} for c in costs}
        save_figures("robustness_checkpoint", figures)
    if options.json:
        print(json.dumps([{**asdict(cost), "share": cost.share} for cost in costs], indent=2))
    else:
        for cost in costs:
            print(
                f"{cost.preset:<10}{cost.saves} saves of up to {cost.largest_mb:.1f} MB: "
                f"{cost.saving_s:.3f} s of {cost.fit_s:.1f} s, {cost.share:.2%}"
            )
    return int(any(cost.share > MAX_SHARE for cost in costs))


if __name__ == "__main__":
    sys.exit(main())
