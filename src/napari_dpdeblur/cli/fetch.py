"""`fetch`: download published data into the user's cache."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument, print_result

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "fetch",
        help="download the published Pixel 4 calibration and scenes",
        description="Download the calibration and the scenes of Xin et al. (ICCV 2021) from the "
        "authors' repository, verify their checksums and keep them in the cache.",
    )
    parser.add_argument("dataset", choices=("pixel4",), help="data to download")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--scenes", nargs="+", metavar="N", help="only these scenes (1 to 17)")
    which.add_argument("--calibration-only", action="store_true", help="download no scenes")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Download and print the folder."""
    from napari_dpdeblur.datasets.pixel4 import fetch_pixel4

    scenes = [] if arguments.calibration_only else arguments.scenes
    folder = fetch_pixel4(scenes)
    print_result({"folder": str(folder)}, arguments.json)
