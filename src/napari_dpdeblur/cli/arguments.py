"""Arguments and printing that several commands share."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_dpdeblur.capture import DualPixelCapture

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
    parser.add_argument("--black", type=float, help="black level in raw units")
    parser.add_argument("--white", type=float, help="white level in raw units")


def open_given_capture(arguments: argparse.Namespace) -> DualPixelCapture:
    """The capture that the arguments name."""
    from napari_dpdeblur.capture import open_capture

    return open_capture(*arguments.capture, black=arguments.black, white=arguments.white)


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
