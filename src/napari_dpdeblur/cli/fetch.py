"""`fetch`: download published data into the user's cache."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import add_json_argument, print_result

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "fetch",
        help="download published calibrations and scenes",
        description="Download published data from the authors' repositories, verify their "
        "checksums and keep them in the cache. pixel4: the calibration and the scenes of Xin et "
        "al. (ICCV 2021). canon-r6: the real captures of He et al. (ICCV 2025), with depth.",
    )
    parser.add_argument("dataset", choices=("pixel4", "canon-r6"), help="data to download")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--scenes",
        nargs="+",
        metavar="N",
        help="only these scenes (pixel4: 1 to 17; canon-r6: names such as box_001)",
    )
    which.add_argument(
        "--calibration-only", action="store_true", help="download no scenes (pixel4)"
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Download and print the folder."""
    fetch = _fetch_canon_r6 if arguments.dataset == "canon-r6" else _fetch_pixel4
    print_result(fetch(arguments), arguments.json)


def _fetch_pixel4(arguments: argparse.Namespace) -> dict[str, Any]:
    from napari_dpdeblur.datasets.pixel4 import fetch_pixel4

    scenes = [] if arguments.calibration_only else arguments.scenes
    return {"folder": str(fetch_pixel4(scenes))}


def _fetch_canon_r6(arguments: argparse.Namespace) -> dict[str, Any]:
    from napari_dpdeblur.datasets.canon_r6 import CITATION, LICENCE, fetch_canon_r6
    from napari_dpdeblur.errors import DownloadError

    if arguments.calibration_only:
        raise DownloadError(
            "canon-r6 has no calibration; leave out --calibration-only, or name scenes."
        )
    folder = fetch_canon_r6(arguments.scenes)
    return {"folder": str(folder), "licence": LICENCE, "cite": CITATION}
