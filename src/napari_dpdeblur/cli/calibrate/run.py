"""`calibrate run`: compute a calibration from captures of the target."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_level_arguments,
    given_levels,
    length_argument,
    size_argument,
)
from napari_dpdeblur.cli.calibrate.show import print_verdict
from napari_dpdeblur.errors import CalibrationError, shortened

if TYPE_CHECKING:
    from napari_dpdeblur.calibration.solve.settings import SolveSettings
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers

# The kinds of captures, by the names of `CAPTURE_GROUPS`.
CAPTURES = {
    "discs": "captures of the discs, merged if there are several",
    "white": "captures of the white screen",
    "black": "captures of the black screen",
    "sheets": "captures of a white sheet through a diffuser, for vignetting; six work well",
    "front_discs": "captures of the discs with the target in front of the focus plane, to measure "
    "the kernels there, too, or alone; otherwise they are derived",
    "front_white": "captures of the white screen in front of the focus plane",
    "front_black": "captures of the black screen in front of the focus plane",
}


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "run",
        help="compute a calibration from captures",
        description="Detect the target in the captures, solve for the kernels and print a verdict "
        "on the result. Captures are given as files or folders. Captures with the target in front "
        "of the focus plane are optional; without them one set serves both sides.",
    )
    for name, meaning in CAPTURES.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            nargs="+",
            type=Path,
            default=[],
            metavar="PATH",
            help=meaning,
        )
    parser.add_argument(
        "--target", type=Path, required=True, metavar="JSON", help="target.json of the target shown"
    )
    _add_output_arguments(parser)
    _add_settings_arguments(parser)
    add_level_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="CAL", help=".dpcal file to write"
    )
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also write the picture")
    parser.add_argument("--overwrite", action="store_true", help="replace CAL and PNG")


def _add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--camera", default="unknown camera", metavar="NAME", help="name of the camera"
    )
    parser.add_argument(
        "--focus-distance", type=length_argument, metavar="M", help="focus distance in metres"
    )
    parser.add_argument(
        "--grid",
        type=size_argument,
        default=(8, 6),
        metavar="WxH",
        help="tiles across and down (default: 8x6)",
    )
    parser.add_argument(
        "--kernel-size",
        type=int,
        default=61,
        metavar="PX",
        help="height and width of a kernel in pixels, odd (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Calibrate, save, print the verdict."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.calibration.captures import Captures
    from napari_dpdeblur.calibration.report.picture import write_calibration_picture
    from napari_dpdeblur.calibration.run import Camera, calibrate
    from napari_dpdeblur.calibration.target.pattern import load_target
    from napari_dpdeblur.progress_bar import progress_bar

    _check_given(arguments)
    for path in filter(None, (arguments.output, arguments.picture)):
        check_output(path, arguments.overwrite)
    settings = _settings(arguments)
    target = load_target(arguments.target)
    captures = Captures.of(
        {name: _open_all(getattr(arguments, name), arguments) for name in CAPTURES}
    )
    camera = Camera(arguments.camera, arguments.focus_distance)
    with progress_bar(is_quiet=arguments.json) as show:
        calibration = calibrate(captures, target, settings, camera, on_event=show)
    save_calibration(calibration, arguments.output)
    if arguments.picture is not None:
        write_calibration_picture(calibration, arguments.picture)
    print_verdict(calibration, str(arguments.output), arguments.json)


def _check_given(arguments: argparse.Namespace) -> None:
    """Refuse captures without a complete set of either side."""
    for side in ("", "front_"):
        if all(getattr(arguments, side + kind) for kind in ("discs", "white", "black")):
            return
    raise CalibrationError(
        "Captures of the discs, the white and the black screen are needed; give --discs, --white "
        "and --black, or --front-discs, --front-white and --front-black if the target was in front "
        "of the focus plane."
    )


def check_output(path: Path, overwrite: bool) -> None:
    """Refuse an output that cannot be written before the long run, not after it."""
    from napari_dpdeblur.files.destination import place_problem

    problem = place_problem(path)
    if problem is not None:
        raise CalibrationError(
            f"{shortened(path)} cannot be written because {problem}; choose another name."
        )
    if path.exists() and not overwrite:
        raise CalibrationError(
            f"{path} already exists and is not overwritten; choose another name or give "
            "--overwrite."
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise CalibrationError(
            f"{path} cannot be written: it is a folder, or its folder does not exist; choose "
            "another name."
        )


def _settings(arguments: argparse.Namespace) -> SolveSettings:
    from napari_dpdeblur.calibration.solve.settings import SolveSettings

    cols, rows = arguments.grid
    return SolveSettings.of({"rows": rows, "cols": cols, "kernel_px": arguments.kernel_size})


def _open_all(paths: list[Path], arguments: argparse.Namespace) -> list[DualPixelCapture]:
    """Open every capture in the files and folders, each once."""
    from napari_dpdeblur.capture import list_captures, open_capture

    levels = given_levels(arguments)
    return [open_capture(*files, **levels) for files in list_captures(paths)]
