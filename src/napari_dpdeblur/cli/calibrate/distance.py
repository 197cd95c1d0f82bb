"""`calibrate distance`: store the lens constants that turn defocus into metres."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument, print_result
from napari_dpdeblur.errors import CalibrationError

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "distance",
        help="store the lens constants that turn defocus into metres",
        description="Store the constants A and B of d = A + B / Z in CAL: given directly, or "
        "computed from calibrations made at the same focus with the screen at known distances.",
    )
    parser.add_argument("calibration", type=Path, metavar="CAL", help="calibration file to change")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--constants", nargs=2, type=float, metavar=("A", "B"), help="known constants, B in metres"
    )
    how.add_argument(
        "--at",
        nargs=2,
        action="append",
        metavar=("M", "CAL"),
        help="distance in metres and the calibration made there; two distances are needed",
    )
    parser.add_argument(
        "--front-at",
        nargs=2,
        action="append",
        default=[],
        metavar=("M", "CAL"),
        help="as --at, for the captures in front of the focus plane of a calibration of both sides",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compute the constants and store them."""
    from napari_dpdeblur.calibration import load_calibration, save_calibration
    from napari_dpdeblur.calibration.distance import checked_constants, with_lens_constants

    base = load_calibration(arguments.calibration)
    if arguments.calibration.is_dir():
        raise CalibrationError(
            f"{arguments.calibration} is a published folder and is not changed; in Python, "
            "save_calibration(load_calibration(folder), 'camera.dpcal') converts it to a file."
        )
    if arguments.constants and arguments.front_at:
        raise CalibrationError(
            "--front-at is for constants that are computed; give it with --at, not with "
            "--constants."
        )
    if arguments.constants:
        base = replace(base, lens_constants=checked_constants(*arguments.constants))
    else:
        known = [(_metres(text), load_calibration(path)) for text, path in arguments.at]
        known += [(_metres(text), _front_of(path)) for text, path in arguments.front_at]
        base = with_lens_constants(base, known)
    save_calibration(base, arguments.calibration)
    a, b = base.lens_constants or (0.0, 0.0)
    result = {"calibration": str(arguments.calibration), "A": a, "B": b}
    print_result(result, arguments.json)


def _front_of(path: str) -> Calibration:
    from napari_dpdeblur.calibration import load_calibration

    front = load_calibration(path).front_side()
    if front is None:
        raise CalibrationError(
            f"{path} has no kernels that were measured in front of the focus plane; run the "
            "calibration with --front-discs, --front-white and --front-black."
        )
    return front


def _metres(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CalibrationError(f"{text} is not a distance in metres, such as 0.45.") from None
