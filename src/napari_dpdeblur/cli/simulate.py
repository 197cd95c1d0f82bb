"""`simulate`: render a capture of a synthetic scene, with calibration and ground truth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_output_argument,
    add_seed_argument,
    print_result,
    size_argument,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.datasets.synthetic.simulation import Simulation

NAME = "synthetic"
CALIBRATION_FILE = f"{NAME}.dpcal"
MPI_FILE = "mpi.tif"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "simulate",
        help="render a capture of a synthetic scene",
        description="Write a capture of a synthetic scene, in the format of the phone app "
        f"({NAME}_left.pgm, {NAME}_right.pgm) or, in colour, as linear TIFF ({NAME}_left.tif, "
        f"{NAME}_right.tif), its calibration ({CALIBRATION_FILE}) and the ground truth: "
        f"{NAME}_all_in_focus.tif, {NAME}_defocus.tif (negative in front of the focus plane) and "
        f"the layers, {MPI_FILE}.",
    )
    add_output_argument(parser)
    parser.add_argument(
        "--scene",
        choices=("shapes", "table"),
        default="shapes",
        help="shapes: a grey still life; table: dolls, a printed page, cloth and leaves in colour, "
        "on both sides of the focus plane (default: shapes)",
    )
    parser.add_argument(
        "--size",
        type=size_argument,
        metavar="WxH",
        help="size of the capture in square pixels, with an even height (default: 672x504, of the "
        "table 1344x1008)",
    )
    add_seed_argument(parser, "scene and noise")
    parser.add_argument(
        "--noise-free", action="store_true", help="add no noise, only 10-bit quantisation"
    )
    parser.add_argument(
        "--both-sides",
        action="store_true",
        help="shapes: a subject in focus with objects behind and in front of it; without, "
        "everything lies behind the focus plane",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Simulate and write."""
    from napari_dpdeblur.datasets.synthetic.simulation import simulate
    from napari_dpdeblur.results.atomic_folder import atomic_folder

    width, height = arguments.size or (None, None)
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        simulation = simulate(
            height,
            width,
            arguments.seed,
            arguments.noise_free,
            arguments.both_sides,
            arguments.scene,
        )
        files = write_simulation(simulation, partial)
    print_result({"folder": str(arguments.output), "files": files}, arguments.json)


def write_simulation(simulation: Simulation, folder: Path) -> list[str]:
    """Write capture, calibration and ground truth; return the names of the files."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
    from napari_dpdeblur.results.tiff_files import write_mpi

    scene = simulation.scene
    light = simulation.calibration.vignetting
    files = write_synthetic(folder, scene, simulation.capture, light)
    save_calibration(simulation.calibration, folder / CALIBRATION_FILE)
    write_mpi(folder / MPI_FILE, scene.color, scene.alpha, scene.defocus_scales)
    return [*(path.name for path in files), CALIBRATION_FILE, MPI_FILE]
