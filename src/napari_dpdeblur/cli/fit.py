"""`fit`: from a capture and a calibration to a run folder."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_crop_argument,
    add_fit_arguments,
    add_json_argument,
    add_optics_arguments,
    add_output_argument,
    given_settings,
    open_given_capture,
    print_result,
    tell,
)
from napari_dpdeblur.cli.lens import (
    add_known_distance_argument,
    add_lens_argument,
    check_crop,
    check_given_distances,
    given_calibration,
    lens_of,
)
from napari_dpdeblur.cli.photo import add_photo_arguments, given_registration
from napari_dpdeblur.computing.loading import fast_loading, load_ahead
from napari_dpdeblur.errors import DpDeblurError, ResultError

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.fitting import Checkpoint, FitSettings
    from napari_dpdeblur.fitting.photo.registration import Registration
    from napari_dpdeblur.results import Result
    from napari_dpdeblur.results.known_distances import KnownDistance

SUFFIX, LENS_SUFFIX = ".checkpoint", ".lens.dpcal"
# File systems allow names of 255 bytes; the lens has a checkpoint of its own.
MAX_STEM_BYTES = 255 - len(LENS_SUFFIX + SUFFIX)
CUT_STEM_BYTES = 200


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "fit",
        help="recover the all-in-focus image and the defocus map of a capture",
        description="Fit a multiplane image to one dual-pixel capture and write a run folder. "
        "Without a calibration, the lens is estimated from the capture first; the run folder "
        "keeps it as lens.dpcal.",
    )
    add_capture_arguments(parser)
    add_lens_argument(parser, "estimate the lens from the capture")
    add_output_argument(parser)
    add_fit_arguments(parser)
    add_crop_argument(parser, "part of the calibrated field to fit")
    add_photo_arguments(parser)
    add_known_distance_argument(parser)
    parser.add_argument(
        "--resume", action="store_true", help="continue from the checkpoint of an interrupted fit"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier run in DIR")
    add_optics_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check all input that can be checked quickly, then fit and write."""
    with fast_loading():
        settings, capture, calibration, kept = _given(arguments)
        photo = given_registration(arguments, capture, settings)

        from napari_dpdeblur.calibration.kept_estimate import (
            check_kept,
            checkpoint_of,
            forget_lens,
        )
        from napari_dpdeblur.fitting import Checkpoint
        from napari_dpdeblur.fitting.resources import memory_of
        from napari_dpdeblur.results import write_run

    checkpoint = Checkpoint(kept, arguments.resume)
    if not arguments.resume:
        checkpoint.check()
    lens = lens_path(arguments.output)
    is_estimated = calibration is None
    if is_estimated:
        check_kept(lens)
    with parents_of(arguments.output):
        try:
            calibration = calibration or _lens(capture, settings, arguments)
            result = _fitted(capture, calibration, settings, checkpoint, photo, arguments)
        except KeyboardInterrupt:
            lenses = [lens, checkpoint_of(lens)] if is_estimated else []
            _tell_what_was_kept([checkpoint.path, *lenses])
            raise
        except DpDeblurError:
            if is_estimated:  # only an interruption leaves something beside the run folder
                forget_lens(lens)
            raise
        result, problem = _with_distances(result, arguments.known_distance)
        write_run(result, arguments.output, arguments.overwrite)
    checkpoint.remove()
    if is_estimated:
        forget_lens(lens)
    if problem is not None:
        raise ResultError(f"{problem} The run was saved without distances.")
    _tell_notes(result, capture, arguments)
    need_bytes = memory_of(capture, calibration, settings, arguments.crop, photo is not None)
    _print(result, need_bytes, arguments)


def _given(
    arguments: argparse.Namespace,
) -> tuple[FitSettings, DualPixelCapture, Calibration | None, Path]:
    """Settings, capture, calibration and the path of the checkpoint, once all are checked.

    The files are read at the same time, while torch is being loaded.
    """
    from napari_dpdeblur.results import check_run_folder

    settings = given_settings(arguments)
    check_run_folder(arguments.output, arguments.overwrite)
    kept = checkpoint_path(arguments.output)
    if all(Path(path).exists() for path in arguments.capture):  # else there is nothing to fit
        load_ahead("torch")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(given_calibration, arguments.calibration)
        capture, calibration = open_given_capture(arguments), reading.result()
    check_given_distances(arguments.known_distance, capture, calibration, arguments.crop)
    return settings, capture, calibration, kept


def _lens(
    capture: DualPixelCapture, settings: FitSettings, arguments: argparse.Namespace
) -> Calibration:
    check_crop(arguments.crop, capture)
    views = capture.with_swapped_views() if settings.swap_views else capture
    kept = lens_path(arguments.output)
    return lens_of(views, is_quiet=arguments.json, kept=kept, resume=arguments.resume)


def _fitted(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    checkpoint: Checkpoint,
    photo: Registration | None,
    arguments: argparse.Namespace,
) -> Result:
    from napari_dpdeblur.fitting import fit

    return fit(
        capture,
        calibration,
        settings,
        crop=arguments.crop,
        checkpoint=checkpoint,
        photo=photo,
        progress=not arguments.json,
        lazy_layers=True,
    )


def _with_distances(
    result: Result, known: list[KnownDistance]
) -> tuple[Result, DpDeblurError | None]:
    """The result with distances in metres if some are known, and why there are none otherwise.

    A fit must not be lost because the distances contradict it.
    """
    from napari_dpdeblur.results.known_distances import with_known_distances

    try:
        return (with_known_distances(result, known) if known else result), None
    except DpDeblurError as error:
        return result, error


def _tell_notes(result: Result, capture: DualPixelCapture, arguments: argparse.Namespace) -> None:
    """Tell notes that were not told before the fit, and the verdict."""
    from napari_dpdeblur.fitting.notes import lens_notes

    lens = None if arguments.calibration is not None else result.calibration
    told = [] if lens is None else lens_notes(lens, capture)
    for note in result.notes:
        if note not in told:
            tell(note)
    if result.verdict_text:
        tell(result.verdict_text)


def _print(result: Result, need_bytes: int, arguments: argparse.Namespace) -> None:
    constants = result.lens_constants
    print_result(
        {
            "folder": str(arguments.output),
            "layers": len(result.defocus_scales),
            "back_scale": float(result.defocus_scales[0]),
            "front_scale": float(result.defocus_scales[-1]),
            **({} if constants is None else {"lens_constants": list(constants)}),
            "elapsed_s": result.provenance["elapsed_s"],
            "estimated_memory_gb": round(need_bytes / 1e9, 2),
            **({"notes": result.notes, **_verdict(result)} if arguments.json else {}),
        },
        arguments.json,
    )


def _verdict(result: Result) -> dict[str, Any]:
    return {"fit_verdict": result.fit_verdict} if result.fit_verdict else {}


def _tell_what_was_kept(paths: list[Path]) -> None:
    kept = next((path for path in paths if path.exists()), None)
    if kept is not None:
        tell(f"{kept} was kept; add --resume to the same command to continue this fit.")
    else:
        tell("nothing was kept, because the fit had just begun; start it again.")


@contextmanager
def parents_of(output: Path) -> Iterator[None]:
    """Create the missing parents of a folder; those that stay empty are removed again."""
    missing = [path for path in Path(os.path.abspath(output)).parents if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
    except OSError as error:
        raise ResultError(
            f"The folder {path} cannot be created: {error.strerror or error}."
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # one that holds something stays, and so do all above it
            for path in missing:
                path.rmdir()


def checkpoint_path(output: Path) -> Path:
    """The checkpoint file beside the run folder, which exists only once it is complete."""
    return _beside(output, SUFFIX)


def lens_path(output: Path) -> Path:
    """Where an estimated lens is kept beside the run folder until that is complete."""
    return _beside(output, LENS_SUFFIX)


def _beside(output: Path, suffix: str) -> Path:
    """A file beside the run folder, named after it as far as file systems allow."""
    from napari_dpdeblur.errors import FitError

    output = Path(os.path.abspath(output))
    name = os.fsencode(output.name)
    if len(name) > MAX_STEM_BYTES:
        start = name[:CUT_STEM_BYTES].decode(errors="ignore")
        name = os.fsencode(f"{start}-{hashlib.sha256(name).hexdigest()[:8]}")
    path = output.with_name(os.fsdecode(name) + suffix)
    if path.is_dir():
        raise FitError(f"The checkpoint {path} cannot be written: it is a folder; move it.")
    return path
