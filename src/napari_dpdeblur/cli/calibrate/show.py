"""`calibrate show`: print the verdict on a calibration and draw it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "show",
        help="print the verdict and write the picture",
        description="Print the verdict on a calibration and write a picture of its kernels, "
        "residuals, vignetting and detected discs.",
    )
    parser.add_argument("calibration", type=Path, metavar="CAL", help="calibration to show")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="PNG",
        help="picture to write (default: CAL.png, such as phone.dpcal.png)",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the verdict of a saved calibration and write its picture."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.calibration.report.picture import write_calibration_picture

    calibration = load_calibration(arguments.calibration)
    picture = arguments.picture or Path(f"{arguments.calibration}.png")
    write_calibration_picture(calibration, picture)
    print_verdict(calibration, str(arguments.calibration), arguments.json)
    if not arguments.json:
        print(f"picture: {picture}")


def print_verdict(calibration: Calibration, path: str, as_json: bool) -> None:
    """Print the verdict on the calibration in a file, for people or for scripts."""
    from napari_dpdeblur.calibration.verdict import verdict_lines

    verdict = calibration.verdict
    if as_json:
        result = {"calibration": path, "front": calibration.front, "verdict": verdict}
        print(json.dumps(result, indent=2))
        return
    if verdict is None or "checks" not in verdict:
        print(
            f"{path}: this calibration has no verdict; `calibrate run` and `calibrate estimate` "
            "store one."
        )
    else:
        print("\n".join([path, *verdict_lines(verdict)]))
    print(f"kernels in front of the focus plane: {calibration.front}")
