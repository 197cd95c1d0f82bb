"""Arguments of `fit` for a colour photo, and its registration before the fit."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import tell

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Picture
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.photo.registration import Registration
    from napari_dpdeblur.fitting.settings import FitSettings

OVERLAP_SUFFIX = ".overlap.png"


def add_photo_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the photo and the picture of its overlap."""
    parser.add_argument(
        "--photo",
        type=Path,
        metavar="PHOTO",
        help="colour photo of the same scene (JPEG, PNG, TIFF or DNG) that gives the result of a "
        "green capture its colours; its focus and exposure do not matter",
    )
    parser.add_argument(
        "--overlap-picture",
        type=Path,
        metavar="PNG",
        help="write a picture of how photo and capture overlap (default: only if they do not "
        f"match, to DIR{OVERLAP_SUFFIX})",
    )


def given_registration(
    arguments: argparse.Namespace, capture: DualPixelCapture, settings: FitSettings
) -> Registration | None:
    """Align the photo with the capture, if there is one; a picture shows why this fails."""
    from napari_dpdeblur.errors import SettingsError

    if arguments.photo is None:
        if arguments.overlap_picture is not None:
            raise SettingsError("--overlap-picture needs a photo; add --photo.")
        return None
    from napari_dpdeblur.capture.photo import open_photo
    from napari_dpdeblur.fitting.photo.registration import RegistrationError, register

    path = arguments.overlap_picture
    if path is not None:
        _check_picture(path, arguments.overwrite, arguments.photo)
    photo = open_photo(arguments.photo)
    try:
        found = register(capture, photo, settings.parameters.photo_registration)
    except RegistrationError as error:
        output = Path(os.path.abspath(arguments.output))
        path = path or output.with_name(output.name + OVERLAP_SUFFIX)
        _write(path, error.picture)
        raise
    if path is not None:
        _write(path, found.picture())
    return found


def _check_picture(path: Path, overwrite: bool, photo: Path) -> None:
    from napari_dpdeblur.errors import ResultError, shortened
    from napari_dpdeblur.files.destination import place_problem

    if (problem := place_problem(path)) is not None:
        raise ResultError(f"{shortened(path)} cannot be written: {problem}.")
    is_picture = path.is_file() and path.suffix.lower() == ".png"
    is_photo = os.path.realpath(path) == os.path.realpath(photo)
    if path.exists() and (is_photo or not (overwrite and is_picture)):
        raise ResultError(
            f"{path} already exists; choose another name for the picture of the overlap."
        )


def _write(path: Path, picture: Picture) -> None:
    from napari_dpdeblur.cli.fit import parents_of
    from napari_dpdeblur.fitting.photo.overlap import write_overlap

    with parents_of(path):
        tell(f"{write_overlap(path, picture)} shows how the photo and the capture overlap.")
