"""`render`: both views of a saved multiplane image, as a calibrated lens would show it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import add_json_argument, add_output_argument, print_result
from napari_dpdeblur.errors import CalibrationError

if TYPE_CHECKING:
    import numpy as np

    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.optics import MultiplaneImage, TiledBlur

Crop = tuple[int, int, int, int]


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "render",
        help="render both views of a saved multiplane image",
        description="Write left.tif and right.tif: float32, linear, in the unit of the layers, "
        "without the vignetting that a capture has.",
    )
    parser.add_argument("mpi", type=Path, metavar="MPI", help="mpi.tif or the run folder of a fit")
    parser.add_argument(
        "--calibration", type=Path, required=True, help="calibration file or folder"
    )
    parser.add_argument(
        "--crop",
        type=crop_argument,
        metavar="Y,X,H,W",
        help="where in the calibrated field the layers lie, when they do not cover all of it",
    )
    add_output_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def crop_argument(text: str) -> Crop:
    """Parse Y,X,H,W."""
    try:
        top, left, height, width = (int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a crop; give four whole numbers as Y,X,H,W"
        ) from None
    return top, left, height, width


def run(arguments: argparse.Namespace) -> None:
    """Read, render, write."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.results.atomic_folder import atomic_folder, check_output_folder
    from napari_dpdeblur.results.tiff_files import write_image

    check_output_folder(arguments.output, overwrite=False, known_files=())
    mpi = _load_mpi(arguments.mpi)
    blur = layer_blur(mpi, load_calibration(arguments.calibration), arguments.crop)
    views = render_views(mpi, blur)
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


def layer_blur(mpi: MultiplaneImage, calibration: Calibration, crop: Crop | None) -> TiledBlur:
    """The blur of each layer, with the kernels of the tiles that the layers cover."""
    from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

    field = calibration.field
    size = (mpi.color.shape[-2], mpi.color.shape[-1])
    top, left, height, width = crop or (0, 0, field.height, field.width)
    inside = top >= 0 and left >= 0 and top + height <= field.height and left + width <= field.width
    if size != (height, width) or not inside:
        raise CalibrationError(
            f"The multiplane image of {size[0]} x {size[1]} px does not fit the part of "
            f"{height} x {width} px at ({top}, {left}) of the field of {field.height} x "
            f"{field.width} px that the calibration of {calibration.camera} covers; give the "
            "crop it was fitted on."
        )
    grid = KernelGrid.from_array(calibration.kernels, calibration.rows, calibration.cols)
    layout = TileLayout.regular(field.height, field.width, grid.rows, grid.cols)
    layout, tiles = layout.crop(top, left, height, width)
    grid = grid.select(tiles, len(layout.row_edges) - 1, len(layout.col_edges) - 1)
    return TiledBlur([grid.scaled(float(scale)) for scale in mpi.defocus_scales], layout)


def render_views(mpi: MultiplaneImage, blur: TiledBlur) -> np.ndarray:
    """Both views (2, C, H, W), one layer over the other from back to front (Eq. 2).

    The same as ``mpi.render(blur)`` with the memory of one layer, and a progress bar.
    """
    import torch
    from tqdm import trange

    layers = torch.cat([mpi.color * mpi.alpha, mpi.alpha], dim=1)
    views = torch.zeros(())
    for index in trange(len(layers), desc="Rendering", unit="layer", delay=1):
        blurred = blur[index : index + 1](layers[index : index + 1])[0]
        views = blurred[:, :-1] + (1 - blurred[:, -1:]) * views
    return views.numpy()
