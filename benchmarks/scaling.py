"""Time and memory of the fit as a function of image size and number of layers.

    python benchmarks/scaling.py [--presets standard preview] [--large] [--json] [--save]

Fits synthetic captures of 0.3, 1.35 and 3 megapixels (12 with `--large`) with 12 layers, each in a
separate process through the command line; that of 1.35 megapixels also with 6 and 24 layers. The
time is that from the files to the finished run folder, the memory is the peak of that process. The
last columns are per megapixel and should hardly change. As in captures of a phone, half of the rows
are interpolated and are left out of the computation. The other rows are the same scenes with square
pixels, which is twice the work, in grey and in colour: 1.35 megapixels, with `--large` also 12 and
15. The last lines compare times per megapixel from 1.35 megapixels upwards, and colour with grey.
On a busy machine the processor time says more, which is given besides.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
SQUARE_SIZES = {1.35: (1008, 1344)}
LARGE_SQUARE_SIZES = {12.0: (3024, 4032), 15.0: (3168, 4752)}
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
    processor_s: float
    has_square_pixels: bool = False

    @property
    def name(self) -> str:
        """The name of its figures, such as `standard_1_35_mp_12_layers`."""
        kind = ("_colour" if self.channels == 3 else "_square") * self.has_square_pixels
        return f"{self.preset}_{self.megapixels:g}_mp_{self.layers}_layers{kind}"

    @property
    def kind(self) -> str:
        """What it shares with the sizes it is compared with."""
        pixels = "colour" if self.channels == 3 else "square grey"
        return f"{self.preset}, {pixels if self.has_square_pixels else 'grey of a phone'}"

    def row(self) -> str:
        per_megapixel = (self.time_s / self.megapixels, self.memory_gb / self.megapixels)
        return (
            f"{self.preset:<10}{self.megapixels:>6.2f}{self.layers:>8}{self.channels:>10}"
            f"{'square' if self.has_square_pixels else 'phone':>8}{self.processor_s:>9.1f}"
            f"{self.time_s:>9.1f}{self.memory_gb:>9.2f}{per_megapixel[0]:>9.1f}{per_megapixel[1]:>9.2f}"
        )


HEADING = (
    f"{'preset':<10}{'MP':>6}{'layers':>8}{'channels':>10}{'pixels':>8}{'CPU s':>9}"
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
            for size, (folder, channels) in _square_cases(Path(scratch), options.large):
                left = _with_square_pixels(folder, channels)
                found.append(_measured(left, folder, preset, size, LAYERS, channels, True))
                _show(found[-1], options.json)
    if not options.json:
        print("\n".join(_comparisons(found)))
    if options.json:
        print(json.dumps([asdict(measurement) for measurement in found], indent=2))
    if options.save:
        save_figures("scaling", {measurement.name: asdict(measurement) for measurement in found})
    return 0


def _simulated(scratch: Path, height: int, width: int) -> Path:
    folder = scratch / f"{height}x{width}"
    run_measured(["simulate", "-o", str(folder), "--size", f"{width}x{height}", "--json"])
    return folder


def _square_cases(scratch: Path, is_large: bool) -> Iterator[tuple[float, tuple[Path, int]]]:
    """Size, folder of the scene, and channels of the captures with square pixels."""
    sizes = SQUARE_SIZES | (LARGE_SQUARE_SIZES if is_large else {})
    for size, shape in sizes.items():
        folder = scratch / f"{shape[0]}x{shape[1]}"
        if not folder.exists():
            _simulated(scratch, *shape)
        for channels in (1, 3):
            yield size, (folder, channels)


def _comparisons(found: Sequence[Measurement]) -> Iterator[str]:
    """Times per megapixel against that of 1.35 megapixels, and colour against grey."""
    usual = [m for m in found if m.layers == LAYERS and m.megapixels >= LAYERED_SIZE]
    for kind in dict.fromkeys(m.kind for m in usual):
        speeds = [m.time_s / m.megapixels for m in usual if m.kind == kind]
        yield f"{kind}: time per megapixel within a factor of {max(speeds) / min(speeds):.2f}"
    for m in usual:
        for grey in usual:
            same = (m.preset, m.megapixels, True) == (grey.preset, grey.megapixels, True)
            if same and m.channels == 3 and grey.has_square_pixels and grey.channels == 1:
                ratio = m.time_s / grey.time_s
                yield f"{m.preset}, {m.megapixels:g} MP: colour takes {ratio:.2f} times as long"


def _with_square_pixels(folder: Path, channels: int) -> Path:
    """The same capture as a pair of pictures with square pixels: its left file."""
    capture = open_capture(folder / "synthetic_left.pgm").with_square_pixels()
    pair = folder / f"{channels}_channels"
    pair.mkdir(exist_ok=True)
    for side, view in zip("LR", capture.views, strict=True):
        encoded = 65535 * linear_to_srgb(np.clip(view[0], 0, 1))
        picture = np.repeat(encoded.astype(np.uint16)[..., None], channels, axis=2)
        cv2.imwrite(str(pair / f"1P0A0001_{side}.png"), picture)
    return pair / "1P0A0001_L.png"


def _measured(
    left: Path,
    folder: Path,
    preset: str,
    size: float,
    layers: int,
    channels: int = 1,
    is_square: bool = False,
) -> Measurement:
    run = folder.with_name("run")
    command = ["fit", str(left), "--output", str(run), "--json"]
    command += ["--calibration", str(folder / "synthetic.dpcal")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    time_s, memory_gb = run_measured([*command, "--preset", preset, "--layers", str(layers)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shutil.rmtree(run)
    return Measurement(preset, size, layers, channels, time_s, memory_gb, processor_s, is_square)


def _show(measurement: Measurement, is_quiet: bool) -> None:
    if not is_quiet:
        print(measurement.row(), flush=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and memory of the fit against image size.")
    parser.add_argument(
        "--presets", nargs="+", default=["standard"], choices=["standard", "preview"]
    )
    parser.add_argument(
        "--large", action="store_true", help="also 12 and 15 megapixels; takes many minutes"
    )
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
