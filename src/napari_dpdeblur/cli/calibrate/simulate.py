"""`calibrate simulate`: render the captures of a calibration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_output_argument,
    add_seed_argument,
    count_argument,
    print_result,
    size_argument,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "simulate",
        help="render captures to try the other steps",
        description="Write folders of simulated captures (discs, white, black, sheets), "
        "target.json and the true calibration, truth.dpcal, to try `run` without a camera. With "
        "--front also captures with the target in front of the focus plane.",
    )
    add_output_argument(parser)
    parser.add_argument(
        "--size",
        type=size_argument,
        default=(2016, 1512),
        metavar="WxH",
        help="size of the captures in square pixels, with an even height (default: 2016x1512)",
    )
    parser.add_argument(
        "--burst",
        type=count_argument,
        default=6,
        metavar="N",
        help="captures of the discs (default: 6)",
    )
    parser.add_argument(
        "--front",
        action="store_true",
        help="also write front_discs, front_white and front_black: the target in front of the "
        "focus plane, through a lens whose two sides differ",
    )
    add_seed_argument(parser, "the noise")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Render and write the captures of a target through the synthetic lens."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.calibration.target.pattern import Target
    from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
    from napari_dpdeblur.results.atomic_folder import atomic_folder

    width, height = arguments.size
    target = Target.for_screen(width, height, 48.0)
    lens = synthetic_calibration(height, width, has_front=arguments.front)
    near_side = lens.front_side()
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        shoot = simulate_shoot(target, lens, burst=arguments.burst, seed=arguments.seed)
        front = None
        if near_side is not None:
            front = simulate_shoot(
                target, near_side, burst=arguments.burst, sheets=0, seed=arguments.seed + 1
            )
        files = write_shoot(shoot, target, partial, front)
        save_calibration(lens, partial / "truth.dpcal")
        names = [str(path.relative_to(partial)) for path in files]
    result = {"folder": str(arguments.output), "files": [*names, "truth.dpcal"]}
    print_result(result, arguments.json)
