"""`evaluate`: how close a run comes to its ground truth."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "evaluate",
        help="compare a run with its ground truth",
        description="Score the all-in-focus image of a run folder (PSNR, SSIM, MAE) and its "
        "defocus map (AIWE(1), AIWE(2), 1 - |rho_s|) against ground truth.",
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder that a fit has written")
    parser.add_argument(
        "--sharp",
        type=Path,
        metavar="GT",
        help="sharp image: PNG or TIFF, linear, full scale of an integer file = 1",
    )
    parser.add_argument(
        "--defocus",
        type=Path,
        metavar="GT",
        help="defocus map: PNG or TIFF, larger = more blur, 0 = not to be compared",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print all metrics for which there is a ground truth."""
    from napari_dpdeblur.evaluation import evaluate_run, format_report

    report = evaluate_run(arguments.folder, arguments.sharp, arguments.defocus)
    print(json.dumps(report, indent=2) if arguments.json else format_report(report))
