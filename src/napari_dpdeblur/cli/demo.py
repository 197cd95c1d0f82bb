"""`demo`: the whole journey on a built-in synthetic scene, with or without a screen."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.simulate import (
    CALIBRATION_FILE,
    MPI_FILE,
    NAME,
    Simulation,
    simulate,
    write_simulation,
)

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers

PREVIEW_FILE = "preview.png"
# The last one lies on top in napari.
SHOWN_FILES = (f"{NAME}_defocus.tif", f"{NAME}_all_in_focus.tif")
DEMO_FILES = (
    f"{NAME}_left.pgm",
    f"{NAME}_right.pgm",
    *SHOWN_FILES,
    CALIBRATION_FILE,
    MPI_FILE,
    PREVIEW_FILE,
)
QT_BINDINGS = ("PyQt6", "PySide6", "PyQt5", "PySide2")
SIZE = (504, 672)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        help="run on a built-in scene and show the result",
        description="Simulate a capture and show it in napari, or, without a display or a Qt "
        "binding, write a picture. An earlier demo in the same folder is replaced.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("napari-dpdeblur-demo"),
        metavar="DIR",
        help="folder to create (default: %(default)s)",
    )
    parser.add_argument("--headless", action="store_true", help="do not open napari")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Simulate, write, show."""
    from napari_dpdeblur.results.atomic_folder import atomic_folder, check_output_folder

    check_output_folder(arguments.output, overwrite=True, known_files=DEMO_FILES)
    simulation = simulate(*SIZE)
    with atomic_folder(arguments.output, overwrite=True, known_files=DEMO_FILES) as partial:
        write_simulation(simulation, partial)
        _write_picture(simulation, partial / PREVIEW_FILE)
    print(f"Result picture: {(arguments.output / PREVIEW_FILE).resolve()}")
    reason = "asked for" if arguments.headless else no_window_reason()
    if reason is None:
        open_in_napari([arguments.output / name for name in SHOWN_FILES])
    else:
        print(f"napari was not opened ({reason}).")


def _write_picture(simulation: Simulation, path: Path) -> None:
    from napari_dpdeblur.results import preview_picture, write_preview

    scene = simulation.scene
    captured = simulation.calibration.prepare(simulation.capture).mean(axis=0)
    write_preview(path, preview_picture(scene.all_in_focus, scene.defocus_map, captured))


def no_window_reason() -> str | None:
    """Why napari cannot be opened here; None when it can."""
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return "there is no display"
    if not any(importlib.util.find_spec(name) for name in QT_BINDINGS):
        return "no Qt binding is installed, see the extra 'all'"
    return None


def open_in_napari(paths: list[Path]) -> None:
    """Show files in a napari of its own, and come back when it is closed."""
    subprocess.run([sys.executable, "-m", "napari", *map(str, paths)], check=False)
