"""`calibrate`: run, show and distance; the other steps are in calibrate_target."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    length_argument,
    print_result,
    size_argument,
)
from napari_dpdeblur.cli.calibrate.target import add_simulate, add_target
from napari_dpdeblur.errors import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from napari_dpdeblur.calibration.events import CalibrationEvent
    from napari_dpdeblur.calibration.solve.settings import SolveSettings
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers

GROUPS = {
    "discs": "captures of the discs; several are merged",
    "white": "captures of the white screen",
    "black": "captures of the black screen",
    "vignetting": "captures of a white sheet through a diffuser (six are a good number)",
}


def add_parser(subparsers: Subparsers) -> None:
    """Add the command and its steps."""
    parser = subparsers.add_parser(
        "calibrate",
        help="measure the blur kernels of a camera with a screen",
        description="From a pattern on a screen to a calibration and a verdict on it.",
    )
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True)
    add_target(steps)
    _add_run(steps)
    _add_show(steps)
    _add_distance(steps)
    add_simulate(steps)


def _add_run(steps: Subparsers) -> None:
    parser = steps.add_parser(
        "run",
        help="compute a calibration from captures",
        description="Find the pattern in the captures, solve for the kernels, judge the result.",
    )
    _add_groups(parser)
    parser.add_argument("--target", type=Path, required=True, metavar="JSON", help="target.json")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="CAL", help="file to write, .dpcal"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier calibration")
    parser.add_argument("--camera", default="unknown camera", help="name of the camera")
    parser.add_argument(
        "--focus-distance", type=length_argument, metavar="M", help="focus, in metres"
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
        help="height and width of a kernel, odd, in pixels (default: %(default)s)",
    )
    parser.add_argument("--picture", type=Path, metavar="PNG", help="write the picture, too")
    parser.add_argument("--black-level", type=float, help="black level in raw units")
    parser.add_argument("--white-level", type=float, help="white level in raw units")
    add_json_argument(parser)
    parser.set_defaults(run=run_calibration)


def _add_groups(parser: argparse.ArgumentParser) -> None:
    for name, text in GROUPS.items():
        parser.add_argument(
            f"--{name}",
            nargs="+",
            type=Path,
            required=name != "vignetting",
            default=[],
            metavar="PATH",
            help=f"{text}: files or folders",
        )


def run_calibration(arguments: argparse.Namespace) -> None:
    """Calibrate, save, print the verdict."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.calibration.report.picture import write_calibration_picture
    from napari_dpdeblur.calibration.run import Camera, Captures, calibrate
    from napari_dpdeblur.calibration.target.pattern import load_target

    for path in filter(None, (arguments.output, arguments.picture)):
        _check_output(path, arguments.overwrite)
    settings = _settings(arguments)
    target = load_target(arguments.target)
    groups = [open_all(getattr(arguments, name), arguments) for name in GROUPS]
    camera = Camera(arguments.camera, arguments.focus_distance)
    with progress_bar() as show:
        calibration = calibrate(Captures(*groups), target, settings, camera, on_event=show)
    save_calibration(calibration, arguments.output)
    if arguments.picture is not None:
        write_calibration_picture(calibration, arguments.picture)
    _print_verdict(calibration.verdict, str(arguments.output), arguments.json)


def _check_output(path: Path, overwrite: bool) -> None:
    """Say no before the long run rather than after it."""
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


def open_all(paths: list[Path], arguments: argparse.Namespace) -> list[DualPixelCapture]:
    """Every capture that the files and folders name, each once."""
    from napari_dpdeblur.capture import list_captures, open_capture

    levels = {"black": arguments.black_level, "white": arguments.white_level}
    return [open_capture(*files, **levels) for files in list_captures(paths)]


@contextmanager
def progress_bar() -> Iterator[Callable[[CalibrationEvent], None]]:
    """A bar on standard error that hears the events of a calibration."""
    from tqdm import tqdm

    with tqdm(total=100, desc="Calibrating", unit="%", delay=1) as bar:

        def show(event: CalibrationEvent) -> None:
            # Without a refresh of its own, which would come before the delay.
            bar.set_postfix_str(f"{event.stage}: {event.detail}", refresh=False)
            bar.update(round(100 * event.fraction) - bar.n)

        yield show


def _print_verdict(verdict: dict[str, Any] | None, path: str, as_json: bool) -> None:
    from napari_dpdeblur.calibration.verdict import verdict_lines

    if as_json:
        print(json.dumps({"calibration": path, "verdict": verdict}, indent=2))
    elif verdict is None or "checks" not in verdict:
        print(f"{path}: this calibration has no verdict, because it was not made here.")
    else:
        print("\n".join([path, *verdict_lines(verdict)]))


def _add_show(steps: Subparsers) -> None:
    parser = steps.add_parser("show", help="print the verdict and write the picture")
    parser.add_argument("calibration", type=Path, metavar="CAL", help="calibration to show")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="PNG",
        help="where to write it (default: CAL.png, such as phone.dpcal.png)",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run_show)


def run_show(arguments: argparse.Namespace) -> None:
    """Print the verdict of a saved calibration and write its picture."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.calibration.report.picture import write_calibration_picture

    calibration = load_calibration(arguments.calibration)
    picture = arguments.picture or Path(f"{arguments.calibration}.png")
    write_calibration_picture(calibration, picture)
    _print_verdict(calibration.verdict, str(arguments.calibration), arguments.json)
    if not arguments.json:
        print(f"picture: {picture}")


def _add_distance(steps: Subparsers) -> None:
    parser = steps.add_parser(
        "distance",
        help="store the lens constants that turn defocus into metres",
        description="d = A + B / Z: give A and B, or calibrations made with the same focus and "
        "the screen at known distances. The constants are stored in CAL.",
    )
    parser.add_argument("calibration", type=Path, metavar="CAL", help="calibration to complete")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--constants", nargs=2, type=float, metavar=("A", "B"), help="known constants, B in metres"
    )
    how.add_argument(
        "--at",
        nargs=2,
        action="append",
        metavar=("M", "CAL"),
        help="distance in metres, and the calibration made there; once per distance",
    )
    parser.set_defaults(run=run_distance)


def run_distance(arguments: argparse.Namespace) -> None:
    """Compute the constants and store them."""
    from dataclasses import replace

    from napari_dpdeblur.calibration import load_calibration, save_calibration
    from napari_dpdeblur.calibration.distance import checked_constants, with_lens_constants

    base = load_calibration(arguments.calibration)
    if arguments.calibration.is_dir():
        raise CalibrationError(
            f"{arguments.calibration} is a published folder, which is not changed; in Python, "
            "save_calibration(load_calibration(folder), 'camera.dpcal') makes a file of it."
        )
    if arguments.constants:
        base = replace(base, lens_constants=checked_constants(*arguments.constants))
    else:
        known = [(_metres(text), load_calibration(path)) for text, path in arguments.at]
        base = with_lens_constants(base, known)
    save_calibration(base, arguments.calibration)
    a, b = base.lens_constants or (0.0, 0.0)
    print_result({"calibration": str(arguments.calibration), "A": a, "B": b}, False)


def _metres(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CalibrationError(f"{text} is not a distance in metres, such as 0.45.") from None
