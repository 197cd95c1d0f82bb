"""`info`: describe a capture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_json_argument,
    open_given_capture,
    print_result,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "info",
        help="describe a capture",
        description="Print the size, levels, orientation, provenance and warnings of a capture.",
    )
    add_capture_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the description of a capture."""
    print_result(open_given_capture(arguments).describe(), arguments.json)
