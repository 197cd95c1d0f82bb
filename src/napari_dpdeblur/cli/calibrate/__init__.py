"""`calibrate`: measure the blur kernels of a camera with a screen, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from napari_dpdeblur.cli.calibrate import distance, run, show, simulate, target

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers

# In the order of the help text. Each module offers add_parser(steps), which sets `run`.
STEPS = (target, run, show, distance, simulate)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command and its steps."""
    parser = subparsers.add_parser(
        "calibrate",
        help="measure the blur kernels of a camera with a screen",
        description="Measure the blur kernels of a camera: show the target on a screen, take "
        "captures, compute the calibration and its verdict.",
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    for step in STEPS:
        step.add_parser(steps)
