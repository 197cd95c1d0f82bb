"""`evaluate`: score a run against ground truth."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument, add_sign_arguments

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "evaluate",
        help="score a run against ground truth",
        description="Score the all-in-focus image of a run folder (PSNR, SSIM, MAE) and its "
        "defocus map (AIWE(1), AIWE(2), 1 - |rho_s|; right sign) against ground truth.",
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="run folder")
    parser.add_argument(
        "--sharp",
        type=Path,
        metavar="GT",
        help="true sharp image: PNG or TIFF, linear, full scale of integers = 1",
    )
    parser.add_argument(
        "--defocus",
        type=Path,
        metavar="GT",
        help="true defocus map: PNG or TIFF, larger = more blur, 0 = unknown; or signed, see "
        "--signed",
    )
    add_sign_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the metrics of everything that has ground truth."""
    from napari_dpdeblur.evaluation import evaluate_run, format_report

    report = evaluate_run(arguments.folder, arguments.sharp, arguments.defocus, arguments.sign)
    print(json.dumps(report, indent=2) if arguments.json else format_report(report))
