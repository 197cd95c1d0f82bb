"""`calibrate estimate`: estimate the lens from ordinary captures, without a target."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_level_arguments,
    add_optics_arguments,
    add_reading_arguments,
    given_optics,
    given_reading,
    size_argument,
    tell,
)
from napari_dpdeblur.cli.calibrate.run import check_output
from napari_dpdeblur.cli.calibrate.show import print_verdict

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers

# Those of `EstimateSettings`, which would bring pydantic.
PROFILES = ("automatic", "neutral", "pixel", "pixel 4", "canon full frame")


def add_parser(steps: Subparsers) -> None:
    """Add the step."""
    parser = steps.add_parser(
        "estimate",
        help="estimate the lens from ordinary captures, without a target",
        description="Estimate kernels and vignetting of a camera from one or more captures of "
        "textured scenes with blur, all of one size and with the same focus, and print a verdict. "
        "Captures are given as files or folders; two files that are no captures of their own "
        "are one pair.",
    )
    parser.add_argument(
        "captures",
        nargs="+",
        type=Path,
        metavar="CAPTURE",
        help="either file of a pair, or a folder with captures",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="CAL", help=".dpcal file to write"
    )
    _add_settings_arguments(parser)
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also write the picture")
    parser.add_argument("--overwrite", action="store_true", help="replace CAL and PNG")
    parser.add_argument(
        "--resume", action="store_true", help="continue an interrupted estimate of CAL"
    )
    add_level_arguments(parser)
    add_reading_arguments(parser)
    add_optics_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def _add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        help="generic lens to start from (default: automatic, by the name of the camera)",
    )
    parser.add_argument(
        "--grid",
        type=size_argument,
        metavar="WxH",
        help="tiles across and down (default: from the shape of the captures)",
    )
    parser.add_argument("--camera", metavar="NAME", help="name of the camera (default: from EXIF)")
    parser.add_argument(
        "--refine",
        type=Path,
        metavar="CAL",
        help="calibration to adapt to the captures, kept unless they support a change",
    )


def run(arguments: argparse.Namespace) -> None:
    """Estimate, save, print the verdict."""
    for path in filter(None, (arguments.output, arguments.picture)):
        check_output(path, arguments.overwrite)
    settings = _settings(arguments)

    from napari_dpdeblur.calibration import load_calibration, save_calibration
    from napari_dpdeblur.calibration.kept_estimate import check_same_camera
    from napari_dpdeblur.calibration.report.picture import write_calibration_picture

    start = None if arguments.refine is None else load_calibration(arguments.refine)
    captures = _open_all(arguments)
    check_same_camera(captures)
    calibration = _estimated(captures, settings, start, arguments)
    if arguments.camera is not None:
        calibration = replace(calibration, camera=arguments.camera)
    save_calibration(calibration, arguments.output)
    if arguments.picture is not None:
        write_calibration_picture(calibration, arguments.picture)
    print_verdict(calibration, str(arguments.output), arguments.json)


def _settings(arguments: argparse.Namespace) -> EstimateSettings:
    from napari_dpdeblur.calibration.estimate.settings import EstimateSettings

    cols, rows = arguments.grid or (None, None)
    given = {"profile": arguments.profile, "rows": rows, "cols": cols}
    return EstimateSettings.of({name: v for name, v in given.items() if v is not None})


def _estimated(
    captures: list[DualPixelCapture],
    settings: EstimateSettings,
    start: Calibration | None,
    arguments: argparse.Namespace,
) -> Calibration:
    from napari_dpdeblur.calibration.estimate.entry import estimate_lens

    checkpoint = arguments.output.with_name(arguments.output.name + ".checkpoint")
    if not arguments.resume:
        checkpoint.unlink(missing_ok=True)
    try:
        return estimate_lens(
            captures,
            settings,
            start=start,
            progress=not arguments.json,
            checkpoint=checkpoint,
        )
    except KeyboardInterrupt:
        if checkpoint.exists():
            tell("add --resume to the same command to continue this estimate.")
        raise


def _open_all(arguments: argparse.Namespace) -> list[DualPixelCapture]:
    """Open every capture in the files and folders, each once, with the given optics."""
    from napari_dpdeblur.capture import open_capture

    reading, optics = given_reading(arguments), given_optics(arguments)
    opened = [open_capture(*files, **reading) for files in _files(arguments.captures)]
    for note in dict.fromkeys(note for capture in opened for note in capture.notes):
        tell(note)
    return [capture.with_optics(**optics, camera=arguments.camera) for capture in opened]


def _files(paths: list[Path]) -> list[tuple[Path, ...]]:
    """Files of each capture; two files that are named like no capture are one pair."""
    from napari_dpdeblur.capture import list_captures
    from napari_dpdeblur.capture.pairing import recognise

    is_pair = len(paths) == 2 and all(path.is_file() for path in paths)
    if is_pair and all(recognise(path.absolute()) is None for path in paths):
        return [(paths[0], paths[1])]
    return list_captures(paths)
