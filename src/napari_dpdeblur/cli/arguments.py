"""Arguments and printing that several commands share."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.fitting.presets import PRESETS

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.settings import FitSettings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_capture_arguments(parser: argparse.ArgumentParser) -> None:
    """The files of a capture and the levels that may replace those of its format."""
    parser.add_argument(
        "capture",
        nargs="+",
        type=Path,
        metavar="CAPTURE",
        help="either file of a pair, both files, or the folder that holds them",
    )
    add_level_arguments(parser)


def add_level_arguments(parser: argparse.ArgumentParser) -> None:
    """Levels that replace those of the format of a capture."""
    parser.add_argument("--black", type=float, help="black level in raw units")
    parser.add_argument("--white", type=float, help="white level in raw units")


def open_given_capture(arguments: argparse.Namespace) -> DualPixelCapture:
    """The capture that the arguments name."""
    from napari_dpdeblur.capture import open_capture

    return open_capture(*arguments.capture, black=arguments.black, white=arguments.white)


def add_calibration_argument(parser: argparse.ArgumentParser) -> None:
    """The calibration, which every computation needs."""
    parser.add_argument(
        "--calibration", type=Path, required=True, help="calibration file or folder"
    )


def add_fit_arguments(parser: argparse.ArgumentParser) -> None:
    """Settings of the fit: those that are changed often, and a file for all."""
    parser.add_argument("--preset", choices=PRESETS, help="standard when not given")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="YAML file with settings")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), help="where to compute")
    parser.add_argument("--layers", type=int, metavar="N", help="layers of the multiplane image")


def given_settings(arguments: argparse.Namespace) -> FitSettings:
    """The settings that the arguments of :func:`add_fit_arguments` name; notes on stderr."""
    from napari_dpdeblur.fitting.settings import FitSettings, unused_settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FutureWarning)
        settings = FitSettings.read(arguments.settings) if arguments.settings else FitSettings()
        settings = settings.changed(
            preset=arguments.preset, device=arguments.device, layers=arguments.layers
        )
    unused = [
        f"setting {name} is not used by preset {settings.preset}"
        for name in unused_settings(settings)
    ]
    for note in [*(str(warning.message) for warning in caught), *unused]:
        print(f"note: {note}", file=sys.stderr)
    return settings


def add_crop_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """`--crop`, a part of the calibrated field."""
    parser.add_argument("--crop", type=crop_argument, metavar="Y,X,H,W", help=meaning)


def crop_argument(text: str) -> Crop:
    """Parse Y,X,H,W."""
    try:
        top, left, height, width = (int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a crop; give four whole numbers as Y,X,H,W"
        ) from None
    return top, left, height, width


def count_argument(text: str) -> int:
    """Parse a number of things, of which there is at least one."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def seed_argument(text: str) -> int:
    """Parse the seed of a random generator."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def length_argument(text: str) -> float:
    """Parse a length, which is larger than 0, in the unit of its option."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def size_argument(text: str) -> tuple[int, int]:
    """Width and height from `1920x1080`."""
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size; give width and height as 1920x1080"
        ) from None
    return width, height


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """The folder to create."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to create; one that holds files already is not touched",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """`--json`, for scripts."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def print_result(result: dict[str, Any], as_json: bool) -> None:
    """Print names and values, for people or for scripts."""
    if as_json:
        print(json.dumps(result, indent=2))
        return
    width = max(map(len, result), default=0) + 2
    for name, value in result.items():
        lines = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
        print(f"{name.replace('_', ' '):<{width}}{lines[0] if lines else '-'}")
        for line in lines[1:]:
            print(" " * width + line)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
