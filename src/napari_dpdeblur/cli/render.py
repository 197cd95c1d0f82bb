"""`render`: render both views of a saved multiplane image through a calibrated lens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_calibration_argument,
    add_crop_argument,
    add_json_argument,
    add_output_argument,
    print_result,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.optics import MultiplaneImage


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "render",
        help="render both views of a saved multiplane image",
        description="Render both views of a multiplane image and write left.tif and right.tif: "
        "float32, linear, in the unit of the layers, without vignetting.",
    )
    parser.add_argument("mpi", type=Path, metavar="MPI", help="mpi.tif or a run folder")
    add_calibration_argument(parser)
    add_crop_argument(
        parser, "part of the calibrated field that the layers cover, if not all of it"
    )
    add_output_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read, render, write."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.generators import finish
    from napari_dpdeblur.progress_bar import count_bar
    from napari_dpdeblur.results.atomic_folder import atomic_folder, check_output_folder
    from napari_dpdeblur.results.render import layer_blur, render_views
    from napari_dpdeblur.results.tiff_files import write_image

    check_output_folder(arguments.output, overwrite=False, known_files=())
    mpi = _load_mpi(arguments.mpi)
    blur = layer_blur(mpi, load_calibration(arguments.calibration), arguments.crop)
    with count_bar("Rendering", "layer") as show:
        views = finish(render_views(mpi, blur), lambda counts: show(*counts))
    names = ["left.tif", "right.tif"]
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        for name, view in zip(names, views, strict=True):
            write_image(partial / name, view, content="rendered view", unit="unit of the layers")
    print_result({"folder": str(arguments.output), "files": names}, arguments.json)


def _load_mpi(path: Path) -> MultiplaneImage:
    import torch

    from napari_dpdeblur.optics import MultiplaneImage
    from napari_dpdeblur.results import read_mpi

    color, alpha, scales = read_mpi(path)
    return MultiplaneImage(
        torch.from_numpy(color), torch.from_numpy(alpha), torch.from_numpy(scales).float()
    )
