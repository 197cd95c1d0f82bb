"""`fit`: from a capture and a calibration to a run folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_calibration_argument,
    add_capture_arguments,
    add_crop_argument,
    add_fit_arguments,
    add_json_argument,
    add_output_argument,
    given_settings,
    open_given_capture,
    print_result,
    tell,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "fit",
        help="recover the all-in-focus image and the defocus map of a capture",
        description="Fit a multiplane image to one dual-pixel capture and write a run folder.",
    )
    add_capture_arguments(parser)
    add_calibration_argument(parser)
    add_output_argument(parser)
    add_fit_arguments(parser)
    add_crop_argument(parser, "part of the calibrated field to fit")
    parser.add_argument(
        "--resume", action="store_true", help="continue from the checkpoint of an interrupted fit"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run in DIR")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check all input that can be checked quickly, then fit and write."""
    from napari_dpdeblur.results import check_run_folder, write_run

    settings = given_settings(arguments)
    check_run_folder(arguments.output, arguments.overwrite)
    capture = open_given_capture(arguments)

    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.fitting import Checkpoint, fit
    from napari_dpdeblur.fitting.resources import memory_of

    calibration = load_calibration(arguments.calibration)
    checkpoint = Checkpoint(checkpoint_path(arguments.output), arguments.resume)
    try:
        result = fit(
            capture,
            calibration,
            settings,
            crop=arguments.crop,
            checkpoint=checkpoint,
            progress=not arguments.json,
        )
    except KeyboardInterrupt:
        if checkpoint.path.exists():
            tell("add --resume to the same command to continue this fit.")
        raise
    write_run(result, arguments.output, arguments.overwrite)
    checkpoint.remove()
    need_bytes = memory_of(capture, calibration, settings, arguments.crop)
    print_result(
        {
            "folder": str(arguments.output),
            "layers": len(result.defocus_scales),
            "back_scale": float(result.defocus_scales[0]),
            "front_scale": float(result.defocus_scales[-1]),
            "elapsed_s": result.provenance["elapsed_s"],
            "estimated_memory_gb": round(need_bytes / 1e9, 2),
        },
        arguments.json,
    )


def checkpoint_path(output: Path) -> Path:
    """The checkpoint file beside the run folder, which exists only once it is complete."""
    output = Path(output)
    return output.with_name(output.name + ".checkpoint")
