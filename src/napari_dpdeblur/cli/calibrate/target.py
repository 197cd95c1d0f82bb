"""`calibrate target`: write the calibration target for a screen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_output_argument,
    length_argument,
    print_result,
    size_argument,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "target",
        help="write the calibration target for a screen",
        description="Write discs.png, white.png and black.png at the native size of the screen; "
        "slides.html, which shows them on any device; and target.json for `run`.",
    )
    parser.add_argument(
        "--screen",
        type=size_argument,
        required=True,
        metavar="WxH",
        help="size of the screen in pixels, such as 1920x1080",
    )
    parser.add_argument(
        "--diagonal",
        type=length_argument,
        default=27,
        metavar="INCH",
        help="diagonal of the screen in inches (default: %(default)s)",
    )
    parser.add_argument(
        "--distance",
        type=length_argument,
        default=45,
        metavar="CM",
        help="distance from the screen to the camera in centimetres (default: %(default)s)",
    )
    parser.add_argument(
        "--pitch",
        type=length_argument,
        metavar="PX",
        help="distance between discs in screen pixels; replaces --diagonal and --distance",
    )
    add_output_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the target."""
    from napari_dpdeblur.calibration.target.pattern import Target, pitch_for_screen
    from napari_dpdeblur.calibration.target.slides import write_target
    from napari_dpdeblur.results.atomic_folder import atomic_folder

    width, height = arguments.screen
    pitch = arguments.pitch or pitch_for_screen(
        width, height, arguments.diagonal, arguments.distance
    )
    target = Target.for_screen(width, height, pitch)
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        files = write_target(target, partial)
    discs = f"{target.cols} x {target.rows} every {target.pitch_px:g} px"
    result = {"folder": str(arguments.output), "discs": discs, "files": files}
    print_result(result, arguments.json)
