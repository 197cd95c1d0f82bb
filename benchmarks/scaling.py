"""Time and memory of the fit as a function of image size and number of layers.

    python benchmarks/scaling.py [--presets standard preview] [--large] [--json] [--save]

Fits synthetic captures of 0.3, 1.35 and 3 megapixels (12 with `--large`) with 12 layers, each in a
separate process through the command line; that of 1.35 megapixels also with 6 and 24 layers. The
time is that from the files to the finished run folder, the memory is the peak of that process. The
last columns are per megapixel and should hardly change. As in captures of a phone, half of the rows
are interpolated and are left out of the computation. The last row of `--large` is the same scene in
colour and with square pixels, six times the work.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np

from measured import run_measured
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.levels import linear_to_srgb
from results_file import add_save_option, save_figures

SIZES = {0.3: (480, 640), 1.35: (1008, 1344), 3.0: (1512, 2016)}
LARGE_SIZES = {12.0: (3024, 4032)}
LAYERS = 12
OTHER_LAYERS = (6, 24)
LAYERED_SIZE = 1.35


@dataclass(frozen=True)
class Measurement:
    """One row of the table."""

    preset: str
    megapixels: float
    layers: int
    channels: int
    time_s: float
    memory_gb: float

    @property
    def name(self) -> str:
        """The name of its figures, such as `standard_1_35_mp_12_layers`."""
        colour = "_colour" * (self.channels == 3)
        return f"{self.preset}_{self.megapixels:g}_mp_{self.layers}_layers{colour}"

    def row(self) -> str:
        per_megapixel = (self.time_s / self.megapixels, self.memory_gb / self.megapixels)
        return (
            f"{self.preset:<10}{self.megapixels:>6.2f}{self.layers:>8}{self.channels:>10}"
            f"{self.time_s:>9.1f}{self.memory_gb:>9.2f}{per_megapixel[0]:>9.1f}{per_megapixel[1]:>9.2f}"
        )


HEADING = (
    f"{'preset':<10}{'MP':>6}{'layers':>8}{'channels':>10}"
    f"{'time s':>9}{'peak GB':>9}{'s/MP':>9}{'GB/MP':>9}"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per size and number of layers."""
    options = _parse(arguments)
    sizes = SIZES | (LARGE_SIZES if options.large else {})
    cases = [(size, LAYERS) for size in sizes] + [(LAYERED_SIZE, n) for n in OTHER_LAYERS]
    if not options.json:
        print(HEADING, flush=True)
    found = []
    with tempfile.TemporaryDirectory(prefix="dpdeblur-scaling-", dir=options.scratch) as scratch:
        captures = {size: _simulated(Path(scratch), *sizes[size]) for size in sizes}
        for preset in options.presets:
            for size, layers in cases:
                left = captures[size] / "synthetic_left.pgm"
                found.append(_measured(left, captures[size], preset, size, layers))
                _show(found[-1], options.json)
            for size in LARGE_SIZES if options.large else ():
                left = _in_colour(captures[size])
                found.append(_measured(left, captures[size], preset, size, LAYERS, channels=3))
                _show(found[-1], options.json)
    if options.json:
        print(json.dumps([asdict(measurement) for measurement in found], indent=2))
    if options.save:
        save_figures("scaling", {measurement.name: asdict(measurement) for measurement in found})
    return 0


def _simulated(scratch: Path, height: int, width: int) -> Path:
    folder = scratch / f"{height}x{width}"
    run_measured(["simulate", "-o", str(folder), "--size", f"{width}x{height}", "--json"])
    return folder


def _in_colour(folder: Path) -> Path:
    """The same capture as a colour pair with square pixels: its left file."""
    capture = open_capture(folder / "synthetic_left.pgm").with_square_pixels()
    pair = folder / "colour"
    pair.mkdir(exist_ok=True)
    for side, view in zip("LR", capture.views, strict=True):
        encoded = 65535 * linear_to_srgb(np.clip(view[0], 0, 1))
        picture = np.repeat(encoded.astype(np.uint16)[..., None], 3, axis=2)
        cv2.imwrite(str(pair / f"1P0A0001_{side}.png"), picture)
    return pair / "1P0A0001_L.png"


def _measured(
    left: Path, folder: Path, preset: str, size: float, layers: int, channels: int = 1
) -> Measurement:
    run = folder.with_name("run")
    command = ["fit", str(left), "--output", str(run), "--json"]
    command += ["--calibration", str(folder / "synthetic.dpcal")]
    time_s, memory_gb = run_measured([*command, "--preset", preset, "--layers", str(layers)])
    shutil.rmtree(run)
    return Measurement(preset, size, layers, channels, time_s, memory_gb)


def _show(measurement: Measurement, is_quiet: bool) -> None:
    if not is_quiet:
        print(measurement.row(), flush=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and memory of the fit against image size.")
    parser.add_argument(
        "--presets", nargs="+", default=["standard"], choices=["standard", "preview"]
    )
    parser.add_argument("--large", action="store_true", help="also 12 megapixels; takes minutes")
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
