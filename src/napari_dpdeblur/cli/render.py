"""`render`: render both views of a saved multiplane image through a calibrated lens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_crop_argument,
    add_json_argument,
    add_output_argument,
    print_result,
)
from napari_dpdeblur.cli.lens import add_lens_argument

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.optics import MultiplaneImage
    from napari_dpdeblur.optics.lens_model import LensModel
    from napari_dpdeblur.results.refocus.aperture import Aperture

KINDS = ("focus", "parallax", "turntable")


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "render",
        help="render both views of a saved multiplane image, and movies of it",
        description="Render both views of a multiplane image and write left.tif and right.tif: "
        "float32, linear, in the unit of the layers, without vignetting. The lens of a run folder "
        "is used as in its fit.",
    )
    parser.add_argument("mpi", type=Path, metavar="MPI", help="mpi.tif or a run folder")
    add_lens_argument(parser, "lens.dpcal in the run folder")
    add_crop_argument(
        parser,
        "part of the calibrated field that the layers cover, if not all of it (default: that of "
        "the run, with its own lens)",
    )
    parser.add_argument(
        "--movie",
        action="append",
        default=[],
        choices=KINDS,
        help="also write KIND.mp4, there and back: the focus moving through the scene, a sharp "
        "parallax, or the scene on a turntable; may be repeated",
    )
    add_output_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read, render, write."""
    from napari_dpdeblur.generators import finish
    from napari_dpdeblur.progress_bar import count_bar
    from napari_dpdeblur.results.atomic_folder import atomic_folder, check_output_folder
    from napari_dpdeblur.results.render import lens_of_layers, render_views
    from napari_dpdeblur.results.tiff_files import write_image

    check_output_folder(arguments.output, overwrite=False, known_files=())
    mpi = _load_mpi(arguments.mpi)
    aperture = lens_of_layers(mpi, *_lens(arguments))
    with count_bar("Rendering", "layer") as show:
        views = finish(render_views(mpi, aperture), lambda counts: show(*counts))
    names = ["left.tif", "right.tif"]
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        for name, view in zip(names, views, strict=True):
            write_image(partial / name, view, content="rendered view", unit="unit of the layers")
        names += [_write_movie(partial, kind, mpi, aperture) for kind in arguments.movie]
    print_result({"folder": str(arguments.output), "files": names}, arguments.json)


def _write_movie(folder: Path, kind: str, mpi: MultiplaneImage, aperture: Aperture) -> str:
    import numpy as np

    from napari_dpdeblur.optics import MultiplaneImage
    from napari_dpdeblur.progress_bar import count_bar
    from napari_dpdeblur.results.export import display_values
    from napari_dpdeblur.results.movie import write_movie
    from napari_dpdeblur.results.preview import white_point
    from napari_dpdeblur.results.refocus.movie_frames import FPS, FRAMES, movie_renders
    from napari_dpdeblur.results.refocus.renderer import Shot

    parts = (mpi.color, mpi.alpha, mpi.defocus_scales, mpi.defocus)
    layers = MultiplaneImage(*(None if part is None else part.numpy() for part in parts))
    white = white_point(layers.all_in_focus())
    shot = Shot(float(np.median(layers.defocus_scales)))
    frames: list[np.ndarray] = []
    with count_bar(f"Movie of the {kind}", "frame") as show:
        for render in movie_renders(kind, layers, aperture, shot, FRAMES):
            frames.append(display_values(render(), white, np.uint8))
            show(len(frames), FRAMES)
    write_movie(folder / f"{kind}.mp4", frames + frames[-2:0:-1], FPS, overwrite=False)
    return f"{kind}.mp4"


def _lens(
    arguments: argparse.Namespace,
) -> tuple[Calibration, Crop | None, LensModel | None]:
    """The given calibration or that of the run, the part that the layers cover, and its use."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.errors import ResultError
    from napari_dpdeblur.results.run_folder import LENS_FILE, read_lens, read_lens_model

    folder = arguments.mpi if arguments.mpi.is_dir() else arguments.mpi.parent
    if arguments.calibration is not None:
        return load_calibration(arguments.calibration), arguments.crop, read_lens_model(folder)
    lens, crop = read_lens(folder)
    if lens is None:
        raise ResultError(
            f"{arguments.mpi} comes without a {LENS_FILE}; give the calibration of the fit with "
            "--calibration CAL."
        )
    return lens, arguments.crop or crop, read_lens_model(folder)


def _load_mpi(path: Path) -> MultiplaneImage:
    import torch

    from napari_dpdeblur.optics import MultiplaneImage
    from napari_dpdeblur.results.run_folder import check_run
    from napari_dpdeblur.results.tiff_files import read_multiplane_image

    folder = path if path.is_dir() else path.parent
    if folder is path or (folder / "run.yaml").exists():
        check_run(folder)
    mpi = read_multiplane_image(path)
    color, alpha = torch.from_numpy(mpi.color), torch.from_numpy(mpi.alpha)
    defocus = None if mpi.defocus is None else torch.from_numpy(mpi.defocus)
    return MultiplaneImage(color, alpha, torch.from_numpy(mpi.defocus_scales).float(), defocus)
