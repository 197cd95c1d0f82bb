"""`demo`: simulate, fit and show a built-in scene, with or without a display."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import PROGRAM
from napari_dpdeblur.cli.simulate import CALIBRATION_FILE, NAME
from napari_dpdeblur.fitting.presets import Preset
from napari_dpdeblur.screen import no_window_reason

if TYPE_CHECKING:
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.datasets.synthetic.simulation import Simulation
    from napari_dpdeblur.results import Result

PREVIEW_FILE = "preview.png"
SIMULATED_FILES = (
    f"{NAME}_left.tif",
    f"{NAME}_right.tif",
    f"{NAME}_all_in_focus.tif",
    f"{NAME}_defocus.tif",
    CALIBRATION_FILE,
)
OLD_FILES = (f"{NAME}_left.pgm", f"{NAME}_right.pgm")  # of demos up to version 0.1
SIZE = (504, 672)
PRESET: Preset = "standard"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        help="fit a built-in scene and show the result",
        description="Simulate a colour capture with objects on both sides of the focus plane, fit "
        "it, write a run folder with a preview picture, and open the folder in napari if there is "
        "a display and a Qt binding. An earlier demo in the same folder is replaced.",
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
    """Simulate, fit, write, show."""
    from napari_dpdeblur.datasets.synthetic.simulation import simulate
    from napari_dpdeblur.results.atomic_folder import atomic_folder, check_output_folder
    from napari_dpdeblur.results.run_folder import OPTIONAL_FILES, RUN_FILES

    needed = {*RUN_FILES, *SIMULATED_FILES}
    known_files = (*needed, *OPTIONAL_FILES, *OLD_FILES)
    # A folder with only some of a demo's files is a simulation or run of the user.
    names = {_new_name(name) for name in _names(arguments.output)}
    is_demo = not names - set(OPTIONAL_FILES) < needed
    check_output_folder(arguments.output, overwrite=is_demo, known_files=known_files)
    simulation = simulate(*SIZE, scene="table")
    result = _fit(simulation)
    with atomic_folder(arguments.output, overwrite=True, known_files=known_files) as partial:
        _write(simulation, result, partial)
    print(f"Preview: {(arguments.output / PREVIEW_FILE).resolve()}")
    reason = "--headless" if arguments.headless else no_window_reason()
    if reason is None:
        open_in_napari(arguments.output)
    else:
        print(f"napari was not opened ({reason}).")


def _new_name(name: str) -> str:
    """The name that a file of an old demo has now."""
    return str(Path(name).with_suffix(".tif")) if name in OLD_FILES else name


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def _fit(simulation: Simulation) -> Result:
    from napari_dpdeblur.fitting import fit

    return fit(simulation.capture, simulation.calibration, preset=PRESET)


def _write(simulation: Simulation, result: Result, folder: Path) -> None:
    """Write a run folder that also holds the capture, its calibration and the ground truth."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
    from napari_dpdeblur.results import write_run

    write_run(result, folder)
    light = simulation.calibration.vignetting
    write_synthetic(folder, simulation.scene, simulation.capture, light)
    save_calibration(simulation.calibration, folder / CALIBRATION_FILE)


def open_in_napari(folder: Path) -> None:
    """Open a run folder with the plugin's reader in a new napari; return when it is closed."""
    reader = ["--plugin", PROGRAM]  # the plugin and the command have the same name
    subprocess.run([sys.executable, "-m", "napari", *reader, str(folder)], check=False)
