"""Memory of repeated fits in one process, and the memory estimate against the measured peak.

    python benchmarks/robustness_memory.py [--fits 10] [--estimates] [--json] [--save]

Prints the resident memory after every fit; after the last it must be within 10 % of that after the
second. `--estimates` (takes minutes) runs fits of several sizes through the command line, each in a
separate process, and compares their peak with the estimate; no fit, 12 megapixels included, may
need more than 6 GB.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from measured import run_measured
from napari_dpdeblur.fitting.presets import Preset
from napari_dpdeblur.fitting.resources import estimate_memory
from results_file import add_save_option, save_figures

SIZES = ((480, 640), (1008, 1344), (1512, 2016), (3024, 4032))
PRESETS: tuple[Preset, ...] = ("preview", "standard")
MAX_GROWTH = 0.1
MAX_PEAK_GB = 6.0


@dataclass(frozen=True)
class Growth:
    """Resident memory after each fit."""

    resident_mb: list[float]

    @property
    def growth(self) -> float:
        """Relative growth from the second to the last fit."""
        return self.resident_mb[-1] / self.resident_mb[1] - 1


def repeated_fits(fits: int, size: tuple[int, int] = (192, 256)) -> Growth:
    """Fit a scene repeatedly in this process."""
    from napari_dpdeblur.fitting import fit
    from robustness_scene import small_scene

    scene = small_scene(size=size)
    process = psutil.Process()
    resident = []
    for _ in range(fits):
        fit(scene.capture, scene.calibration, scene.settings)
        resident.append(process.memory_info().rss / 1e6)
    return Growth(resident)


@dataclass(frozen=True)
class Estimate:
    """Estimated and peak memory of one fit."""

    preset: str
    height: int
    width: int
    estimated_gb: float
    peak_gb: float

    @property
    def holds(self) -> bool:
        """Whether the peak is within the estimate and the limit."""
        return self.peak_gb <= min(self.estimated_gb, MAX_PEAK_GB)


def estimates(scratch: Path) -> list[Estimate]:
    """Fit captures of several sizes with both presets and 12 layers."""
    found = []
    for height, width in SIZES:
        folder = scratch / f"{height}"
        _peak_gb("simulate", "-o", str(folder), "--size", f"{width}x{height}")
        for preset in PRESETS:
            run = scratch / f"{height}-{preset}"
            capture = [str(folder / "synthetic_left.pgm"), "--preset", preset, "-o", str(run)]
            peak = _peak_gb("fit", *capture, "--calibration", str(folder / "synthetic.dpcal"))
            expected = estimate_memory(height, width, 1, 12, preset, row_upsampling=2) / 1e9
            found.append(Estimate(preset, height, width, expected, peak))
    return found


def _peak_gb(*arguments: str) -> float:
    return run_measured([*arguments, "--json"])[1]


def _figures(growth: Growth, rows: Sequence[Estimate]) -> dict[str, object]:
    return {
        "after_second_fit_mb": growth.resident_mb[1],
        "after_last_fit_mb": growth.resident_mb[-1],
        "growth_percent": 100 * growth.growth,
        **{f"{row.preset}_{row.height}x{row.width}": asdict(row) for row in rows},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description="Memory of repeated fits, and its estimate.")
    parser.add_argument("--fits", type=int, default=10, help="number of fits in one process")
    parser.add_argument("--estimates", action="store_true", help="compare estimates with peaks")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    growth = repeated_fits(options.fits)
    rows: list[Estimate] = []
    if options.estimates:
        with tempfile.TemporaryDirectory(prefix="dpdeblur-memory-") as scratch:
            rows = estimates(Path(scratch))
    if options.save:
        save_figures("robustness_memory", _figures(growth, rows))
    if options.json:
        content = {**asdict(growth), "growth": growth.growth, "estimates": list(map(asdict, rows))}
        print(json.dumps(content, indent=2))
    else:
        print("after each fit:", *(f"{value:.0f} MB" for value in growth.resident_mb))
        print(f"from the second to the last: {growth.growth:+.1%}")
        for row in rows:
            print(
                f"{row.preset:<10}{row.height} x {row.width}: estimated {row.estimated_gb:.2f} GB, "
                f"needed {row.peak_gb:.2f} GB, at most {MAX_PEAK_GB}"
            )
    return int(growth.growth > MAX_GROWTH or not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
