"""`convert`: write captures as 14-bit PNG pairs, the published format, or as float TIFFs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_json_argument,
    add_output_argument,
    given_reading,
    print_result,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="write captures with square pixels as PNG or TIFF pairs",
        description="Write both views of a capture, or of every capture in a folder, with "
        "square pixels. PNG: 16-bit grey on the 14-bit scale of the published scenes (black "
        "1024, white 16383). TIFF: float32, linear, (raw - black) / white.",
    )
    add_capture_arguments(parser, format_option="--input-format")
    add_output_argument(parser)
    parser.add_argument(
        "--format",
        choices=("auto", "png", "tiff"),
        default="auto",
        help="auto: PNG if lossless (one linear channel), else TIFF (default: auto)",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Convert one capture, or all captures of one folder."""
    from tqdm import tqdm

    from napari_dpdeblur.capture import open_capture
    from napari_dpdeblur.results.atomic_folder import atomic_folder
    from napari_dpdeblur.results.view_pair import write_pair

    pending = _pending(arguments)
    files: list[str] = []
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        for paths in tqdm(pending, desc="Converting", unit="capture", delay=1):
            capture = open_capture(*paths, **given_reading(arguments))
            files += write_pair(capture, partial, arguments.format)
    folder = str(arguments.output)
    print_result({"folder": folder, "files": files}, arguments.json)


def _pending(arguments: argparse.Namespace) -> list[tuple[Path, ...]]:
    """List the files of each capture to convert."""
    from napari_dpdeblur.capture import list_captures

    given = arguments.capture
    return list_captures(given) if len(given) == 1 else [tuple(given)]
