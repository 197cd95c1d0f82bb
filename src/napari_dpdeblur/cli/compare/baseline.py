"""`baseline`: run a baseline method on one capture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_json_argument,
    add_output_argument,
    open_given_capture,
    print_result,
)
from napari_dpdeblur.cli.lens import add_lens_argument, given_calibration, lens_of
from napari_dpdeblur.evaluation.baselines.registry import BASELINES

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "baseline",
        help="run a baseline method on a capture",
        description="Run two-view Wiener deconvolution, the stereo matching of Wadhwa et al., the "
        "parametric kernels of Punnappurath et al., or a network on one capture. Write "
        "all_in_focus.tif, defocus_map.tif or both, as the method provides.",
    )
    parser.add_argument("method", choices=(*BASELINES, "onnx"), help="method to run")
    add_capture_arguments(parser)
    add_lens_argument(parser, "estimate the lens from the capture")
    parser.add_argument("--model", type=Path, metavar="FILE", help="ONNX file, for onnx")
    add_output_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Run the method and write its images."""
    from napari_dpdeblur.errors import EvaluationError
    from napari_dpdeblur.evaluation.comparison import methods
    from napari_dpdeblur.evaluation.comparison.result_store import IMAGE_FILE, MAP_FILE
    from napari_dpdeblur.results.atomic_folder import atomic_folder
    from napari_dpdeblur.results.tiff_files import write_image

    if (arguments.method == "onnx") != (arguments.model is not None):
        raise EvaluationError("--model FILE is needed for the method onnx, and only for it.")
    if arguments.model is not None:
        method = methods.onnx_method("onnx", arguments.model)
    else:
        method = methods.known_method(arguments.method)
    capture = open_given_capture(arguments)
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        calibration = given_calibration(arguments.calibration)
        calibration = calibration or lens_of(capture, is_quiet=arguments.json)
        prediction = method.predict(capture, calibration)
        made = {IMAGE_FILE: prediction.all_in_focus, MAP_FILE: prediction.defocus_map}
        arrays = {name: array for name, array in made.items() if array is not None}
        for name, array in arrays.items():
            write_image(partial / name, array, method=method.label)
    print_result({"folder": str(arguments.output), "files": list(arrays)}, arguments.json)
