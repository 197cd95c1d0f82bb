"""Steps of `calibrate` that come before the camera: target and simulate."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_output_argument,
    count_argument,
    length_argument,
    print_result,
    seed_argument,
    size_argument,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_target(steps: Subparsers) -> None:
    """Add the step that writes the pattern."""
    parser = steps.add_parser(
        "target",
        help="write the pattern for a screen",
        description="Write discs.png, white.png and black.png at the native size of the screen, "
        "slides.html, which steps through them on any device, and target.json for the run.",
    )
    parser.add_argument(
        "--screen",
        type=size_argument,
        required=True,
        metavar="WxH",
        help="its pixels, such as 1920x1080",
    )
    parser.add_argument(
        "--diagonal",
        type=length_argument,
        default=27,
        metavar="INCH",
        help="of the screen, in inches (default: %(default)s)",
    )
    parser.add_argument(
        "--distance",
        type=length_argument,
        default=45,
        metavar="CM",
        help="to the camera, in centimetres (default: %(default)s)",
    )
    parser.add_argument(
        "--pitch",
        type=length_argument,
        metavar="PX",
        help="distance between discs, instead of the two above",
    )
    add_output_argument(parser)
    parser.set_defaults(run=run_target)


def run_target(arguments: argparse.Namespace) -> None:
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
    print_result({"folder": str(arguments.output), "discs": discs, "files": files}, False)


def add_simulate(steps: Subparsers) -> None:
    """Add the step that renders captures."""
    parser = steps.add_parser(
        "simulate",
        help="render what a user would photograph",
        description="Write folders of captures (discs, white, black, sheets), target.json and the "
        "true calibration, truth.dpcal, to try the run without a camera.",
    )
    add_output_argument(parser)
    parser.add_argument(
        "--size",
        type=size_argument,
        default=(2016, 1512),
        metavar="WxH",
        help="of the captures, in square pixels (default: 2016x1512)",
    )
    parser.add_argument(
        "--burst", type=count_argument, default=6, help="captures of the discs (default: 6)"
    )
    parser.add_argument(
        "--seed", type=seed_argument, default=0, help="of the noise (default: %(default)s)"
    )
    parser.set_defaults(run=run_simulate)


def run_simulate(arguments: argparse.Namespace) -> None:
    """Photograph a target with the synthetic lens."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.calibration.target.pattern import Target
    from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
    from napari_dpdeblur.results.atomic_folder import atomic_folder

    width, height = arguments.size
    target = Target.for_screen(width, height, 48.0)
    lens = synthetic_calibration(height, width)
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        shoot = simulate_shoot(target, lens, burst=arguments.burst, seed=arguments.seed)
        files = write_shoot(shoot, target, partial)
        save_calibration(lens, partial / "truth.dpcal")
        names = [str(path.relative_to(partial)) for path in files]
    print_result({"folder": str(arguments.output), "files": [*names, "truth.dpcal"]}, False)
