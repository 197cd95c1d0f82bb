"""Arguments and output that several commands share."""

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

PROGRAM = "napari-dpdeblur"


def add_capture_arguments(parser: argparse.ArgumentParser, format_option: str = "--format") -> None:
    """Add the files of a capture and how to read them."""
    parser.add_argument(
        "capture",
        nargs="+",
        type=Path,
        metavar="CAPTURE",
        help="either file of a pair, both files (left first), or their folder",
    )
    add_level_arguments(parser)
    add_reading_arguments(parser, format_option)


def add_level_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the levels that replace those of the file format."""
    for name in ("black", "white"):
        parser.add_argument(
            f"--{name}-level",
            type=float,
            metavar="LEVEL",
            help=f"{name} level in raw units (default: that of the file format)",
        )


def add_reading_arguments(parser: argparse.ArgumentParser, format_option: str = "--format") -> None:
    """Add what files of unknown origin do not say about themselves."""
    parser.add_argument(
        "--encoding",
        choices=("srgb", "linear"),
        help="encoding of the values (default: that of the file format; sRGB for pictures of "
        "unknown origin)",
    )
    parser.add_argument(
        "--orientation",
        choices=("landscape", "transposed"),
        help="landscape: disparity along x; transposed: along y, as in portrait pairs (default: "
        "that of the file format; landscape for pictures of unknown origin)",
    )
    parser.add_argument(
        format_option,
        dest="capture_format",
        metavar="ID",
        help="format of the files, such as picture-pair (default: recognised)",
    )


def add_optics_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the optics, which replace what the EXIF data say."""
    group = parser.add_argument_group("optics of the camera (default: from EXIF, if present)")
    meanings = {
        "--focal-length-mm": "focal length",
        "--f-number": "f-number",
        "--focus-distance-m": "focus distance",
        "--sensor-width-mm": "width of the sensor that the picture shows, such as 36",
    }
    for option, meaning in meanings.items():
        group.add_argument(option, type=length_argument, metavar="NUMBER", help=meaning)


def open_given_capture(arguments: argparse.Namespace) -> DualPixelCapture:
    """Open the capture that the arguments name; notes on stderr."""
    capture = read_given_capture(arguments)
    for note in capture.notes:
        tell(note)
    return capture


def read_given_capture(arguments: argparse.Namespace) -> DualPixelCapture:
    """Open the capture that the arguments name, with the optics they give."""
    from napari_dpdeblur.capture import open_capture

    capture = open_capture(*arguments.capture, **given_reading(arguments))
    return capture.with_optics(**given_optics(arguments))


def given_levels(arguments: argparse.Namespace) -> dict[str, Any]:
    """The levels as keyword arguments of `open_capture`; None keeps that of the file format."""
    return {"black": arguments.black_level, "white": arguments.white_level}


def given_reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Levels, encoding, orientation and format as keyword arguments of `open_capture`."""
    return {
        **given_levels(arguments),
        "encoding": arguments.encoding,
        "orientation": arguments.orientation,
        "format": arguments.capture_format,
    }


def given_optics(arguments: argparse.Namespace) -> dict[str, float | None]:
    """The optics as keyword arguments of `DualPixelCapture.with_optics`."""
    names = ("focal_length_mm", "f_number", "focus_distance_m", "sensor_width_mm")
    return {name: getattr(arguments, name, None) for name in names}


def add_calibration_argument(parser: argparse.ArgumentParser) -> None:
    """Add the calibration, which is required."""
    parser.add_argument(
        "--calibration", type=Path, required=True, metavar="CAL", help="calibration file or folder"
    )


def add_fit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the fit settings that are changed often, and a file for all of them."""
    parser.add_argument(
        "--preset", choices=PRESETS, help="quality and speed of the fit (default: standard)"
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="read settings from YAML")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda", "mps"),
        help="where to compute (default: auto, a GPU if available)",
    )
    parser.add_argument(
        "--layers",
        type=layers_argument,
        metavar="N",
        help="layers of the multiplane image, or automatic (default): as many as there are "
        "surfaces with preset standard, else 12",
    )
    parser.add_argument(
        "--memory-gb",
        type=float,
        metavar="GB",
        help="memory that a fit may use (default: what is free, at most 6)",
    )
    parser.add_argument(
        "--sides",
        choices=("both", "behind"),
        help="where the scene may lie: on both sides of the focus plane (default) or only behind",
    )
    parser.add_argument(
        "--swap-views", action="store_true", help="exchange the left and the right view"
    )


def given_settings(arguments: argparse.Namespace) -> FitSettings:
    """The settings that the arguments of :func:`add_fit_arguments` name; notes on stderr."""
    from napari_dpdeblur.fitting.settings import FitSettings, unused_settings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FutureWarning)
        settings = FitSettings.read(arguments.settings) if arguments.settings else FitSettings()
        settings = settings.changed(
            preset=arguments.preset,
            device=arguments.device,
            layers=arguments.layers,
            memory_gb=arguments.memory_gb,
            sides=arguments.sides,
            swap_views=arguments.swap_views or None,
        )
    unused = [
        f"setting {name} is not used by preset {settings.preset}"
        for name in unused_settings(settings)
    ]
    for note in [*(str(warning.message) for warning in caught), *unused]:
        tell(note)
    return settings


def add_crop_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add `--crop`, a part of the calibrated field."""
    parser.add_argument("--crop", type=crop_argument, metavar="Y,X,H,W", help=meaning)


def crop_argument(text: str) -> Crop:
    """Parse Y,X,H,W."""
    try:
        top, left, height, width = (int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be four whole numbers Y,X,H,W, not {text!r}"
        ) from None
    return top, left, height, width


def layers_argument(text: str) -> int | str:
    """Parse a number of layers, or the word automatic."""
    if text == "automatic":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a whole number or automatic, not {text!r}"
        ) from None


def count_argument(text: str) -> int:
    """Parse a count of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def add_seed_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--seed`."""
    parser.add_argument(
        "--seed",
        type=seed_argument,
        default=0,
        metavar="N",
        help=f"random seed of {what} (default: 0)",
    )


def seed_argument(text: str) -> int:
    """Parse the seed of a random generator."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, not {text!r}")
    return int(text)


def length_argument(text: str) -> float:
    """Parse a length above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def size_argument(text: str) -> tuple[int, int]:
    """Parse WIDTHxHEIGHT, such as 1920x1080."""
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be WIDTHxHEIGHT, such as 1920x1080, not {text!r}"
        ) from None
    return width, height


def add_sign_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the values of a true defocus map mean: `sign` is None if neither is given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--signed",
        dest="sign",
        action="store_const",
        const="signed",
        help="the true defocus map is signed, negative in front of the focus plane: floats (TIFF "
        "or .npy) in defocus scales, NaN = unknown, or 16 bits with 32768 + 8192 d, 0 = unknown "
        "(default: only floats with negative values)",
    )
    group.add_argument(
        "--unsigned",
        dest="sign",
        action="store_const",
        const="unsigned",
        help="the true defocus map has no sign: compare it with the absolute value of the result",
    )


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """Add the output folder."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to create; must not hold files yet",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, for scripts."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def tell(sentence: str) -> None:
    """Print a note on standard error, apart from the result."""
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)


def print_result(result: dict[str, Any], as_json: bool) -> None:
    """Print names and values, as a table or as JSON."""
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
