"""`ablation`: fit without each term of the objective in turn, as in Table 2 of the paper."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_crop_argument, count_argument
from napari_dpdeblur.cli.compare.benchmark import add_data_arguments, compare
from napari_dpdeblur.fitting.presets import PRESETS

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers

PLOT_FILE = "mean_defocus.svg"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "ablation",
        help="fit without each term of the objective in turn",
        description="Fit all scenes without each term of the objective in turn, without bias "
        "correction, and with all terms. Write table.csv, table.md, report.html and "
        f"{PLOT_FILE}: the mean defocus of each scene with and without bias correction. "
        "Existing results are reused.",
    )
    add_data_arguments(parser)
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        default="standard",
        help="preset to fit with (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=count_argument,
        default=300,
        metavar="N",
        help="Adam steps of the preset paper (default: %(default)s)",
    )
    add_crop_argument(parser, "part of the calibrated field to fit")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Fit, score, write tables and plot."""
    from napari_dpdeblur.evaluation.comparison import published
    from napari_dpdeblur.evaluation.comparison.ablation import ablation_methods, mean_defocus_plot

    methods = ablation_methods(arguments.preset, arguments.steps, arguments.crop)
    title = f"Ablation, preset {arguments.preset}"
    plots = {PLOT_FILE: mean_defocus_plot}
    compare(arguments, methods, published.ABLATION, title, plots)
