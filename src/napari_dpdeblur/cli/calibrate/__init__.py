"""`calibrate`: measure the blur kernels of a camera with a screen, or estimate them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from napari_dpdeblur.cli.calibrate import distance, estimate, run, show, simulate, target

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers

# In the order of the help text. Each module offers add_parser(steps), which sets `run`.
STEPS = (target, run, estimate, show, distance, simulate)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command and its steps."""
    parser = subparsers.add_parser(
        "calibrate",
        help="measure the blur kernels of a camera with a screen, or estimate them",
        description="Measure the blur kernels of a camera: show the target on a screen, take "
        "captures, compute the calibration and its verdict. Or estimate them from ordinary "
        "captures, without a target.",
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    for step in STEPS:
        step.add_parser(steps)
