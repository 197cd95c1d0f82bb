"""`info`: describe a capture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_json_argument,
    add_optics_arguments,
    given_optics,
    given_reading,
    print_result,
    read_given_capture,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "info",
        help="describe a capture",
        description="Print the format, size, levels, orientation, optics and warnings of a "
        "capture, from the headers of its files.",
    )
    add_capture_arguments(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="decode the pixels as well: checksums, darkest values, mean brightness, clipped and "
        "invalid pixels, and warnings about them (default: headers only)",
    )
    add_optics_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the description of a capture."""
    described = _described(arguments)
    optics = described.pop("optics", {})
    if arguments.json and optics:
        described["optics"] = optics
    else:
        described.update(optics)
    print_result(described, arguments.json)


def _described(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.check:
        return read_given_capture(arguments).describe()
    from napari_dpdeblur.capture import read_capture_header

    header = read_capture_header(*arguments.capture, **given_reading(arguments))
    return header.with_optics(**given_optics(arguments)).describe()
