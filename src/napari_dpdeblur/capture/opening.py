"""Open a capture: from either file of a pair, both files, or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from napari_dpdeblur.capture import pairing
from napari_dpdeblur.capture.camera_optics import read_optics
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture
from napari_dpdeblur.capture.formats import CaptureFormat, CapturePart, Levels
from napari_dpdeblur.capture.header import ENCODINGS, CaptureHeader
from napari_dpdeblur.capture.pairing import (
    PathLike,
    Recognised,
    absolute_path,
    check_exists,
    claims,
    in_folder,
    missing_partner,
    recognise,
    recognised_at,
)
from napari_dpdeblur.capture.picture import PICTURE_SUFFIXES
from napari_dpdeblur.capture.picture_pair import PICTURE_PAIR, locate_by_name, pair_of
from napari_dpdeblur.capture.pixel import APP_PGM
from napari_dpdeblur.errors import CaptureError, shortened

Opened = TypeVar("Opened", DualPixelCapture, CaptureHeader)


def open_capture(
    *paths: PathLike | Sequence[PathLike],
    black: float | None = None,
    white: float | None = None,
    encoding: str | None = None,
    orientation: str | None = None,
    format: str | None = None,
) -> DualPixelCapture:
    """Open one capture from either file of its pair, both files, or its folder.

    Two files are a pair whatever they are called, the left one first unless their names say
    otherwise. ``black`` and ``white`` override the levels of the format, in raw units;
    ``encoding`` ("srgb" or "linear"), ``orientation`` ("landscape" or "transposed") and ``format``
    (an id such as "picture-pair") override what the files look like.
    """
    return _opened(paths, Levels(black, white, encoding), orientation, format, _loaded)


def read_capture_header(
    *paths: PathLike | Sequence[PathLike],
    black: float | None = None,
    white: float | None = None,
    encoding: str | None = None,
    orientation: str | None = None,
    format: str | None = None,
) -> CaptureHeader:
    """Describe the capture that :func:`open_capture` would open, from the headers of its files.

    No pixels are decoded, except to recognise pictures whose names mean little (`a.png` and
    `b.png`), and those of formats without such headers.
    """
    return _opened(paths, Levels(black, white, encoding), orientation, format, _header)


def _loaded(known: CaptureFormat, part: CapturePart, levels: Levels) -> DualPixelCapture:
    return known.load(part, levels)


def _header(known: CaptureFormat, part: CapturePart, levels: Levels) -> CaptureHeader:
    if known.read_header is None:
        return known.load(part, levels).header
    return known.read_header(part, levels)


def _opened(
    paths: Iterable[PathLike | Sequence[PathLike]],
    levels: Levels,
    orientation: str | None,
    format_id: str | None,
    read: Callable[[CaptureFormat, CapturePart, Levels], Opened],
) -> Opened:
    given = [absolute_path(path) for path in _flat(paths)]
    if not given:
        raise CaptureError("No capture was given; specify a file of the pair or its folder.")
    if levels.encoding not in (None, *ENCODINGS):
        raise CaptureError(
            f"The encoding must be {' or '.join(ENCODINGS)}, not {levels.encoding!r}."
        )
    try:
        known, part, notes = _chosen(given, format_id)
        if not part.has_partner:
            raise missing_partner(part)
        return _completed(read(known, part, levels), part, notes, levels, orientation)
    except OSError as error:
        raise CaptureError(
            f"{shortened(given[0])} cannot be read: {error.strerror or error}."
        ) from error
    except ValueError as error:  # a path with a null character
        raise CaptureError(f"{str(given[0])!r} is not a valid file name.") from error


def _completed(
    found: Opened,
    part: CapturePart,
    notes: tuple[str, ...],
    levels: Levels,
    orientation: str | None,
) -> Opened:
    """With notes, encoding, optics of the file and orientation."""
    encoding = levels.encoding or found.encoding
    told = replace(found, encoding=encoding, notes=(*notes, *found.notes))
    capture = _with_file_optics(told, part.files[0])
    return capture if orientation is None else capture.with_orientation(orientation)


def _flat(paths: Iterable[PathLike | Sequence[PathLike]]) -> Iterator[PathLike]:
    for path in paths:
        if isinstance(path, str | os.PathLike):
            yield path
        else:
            yield from path


def _with_file_optics(capture: Opened, path: Path) -> Opened:
    """The capture with what its format and the EXIF data of the file know about the optics."""
    found = read_optics(path, capture.stored_width_px)
    if found is None:
        return capture
    return replace(capture, optics=found.updated(capture.optics))


def _chosen(
    given: list[Path], format_id: str | None
) -> tuple[CaptureFormat, CapturePart, tuple[str, ...]]:
    """Format and files of the one capture that all given paths belong to, and notes."""
    if len(given) > 2:
        raise CaptureError(
            f"{len(given)} files were given, but a capture has two views; specify the left and "
            "the right file."
        )
    is_two_files = len(given) == 2 and not any(path.is_dir() for path in given)
    if is_two_files:
        return _two_files(given[0], given[1], format_id)
    known, part = _only_one(given) if format_id is None else _as_format(given[0], format_id)
    return known, part, ()


def _two_files(
    first: Path, second: Path, format_id: str | None
) -> tuple[CaptureFormat, CapturePart, tuple[str, ...]]:
    for path in (first, second):
        check_exists(path)
    if first.samefile(second):
        raise CaptureError(
            f"{first} was given twice; specify the left and the right file of the capture."
        )
    if format_id is None and _is_known(first) and _is_known(second):
        return *_only_one([first, second]), ()
    part, notes = pair_of(first, second)
    return _any_pair(part) if format_id is None else format_of(format_id), part, notes


def _is_known(path: Path) -> bool:
    """Whether a file belongs to a format of its own, so that its name counts."""
    recognised = recognise(path)
    if recognised is None or recognised[0] is PICTURE_PAIR:
        return False
    return path.suffix.lower() not in PICTURE_SUFFIXES or claims(*recognised)


def _any_pair(part: CapturePart) -> CaptureFormat:
    """The format for two files with names of their own."""
    is_pgm = all(path.suffix.lower() == ".pgm" for path in part.files)
    return APP_PGM if is_pgm else PICTURE_PAIR


def format_of(format_id: str) -> CaptureFormat:
    """The format with this id."""
    known = {known.id: known for known in (*pairing.FORMATS, PICTURE_PAIR)}
    if format_id not in known:
        raise CaptureError(
            f"There is no capture format {format_id!r}; choose one of {', '.join(known)}."
        )
    return known[format_id]


def _as_format(path: Path, format_id: str) -> Recognised:
    """A file, or the only one in a folder, in a format that the user chose."""
    known = format_of(format_id)
    check_exists(path)
    if path.is_dir():
        found, part = in_folder(path)
        return (found, part) if found is known else (known, pair_of(*part.files)[0])
    located = known.locate(path) or locate_by_name(path)
    if located is None:
        raise CaptureError(
            f"{path} is not named like a view in the format {format_id} (for example "
            f"{known.example}); specify both files."
        )
    return known, located


def _only_one(given: list[Path]) -> Recognised:
    """The one capture that all given paths belong to."""
    found = [recognised_at(path) for path in given]
    capture_format, part = found[0]
    for other_format, other in found[1:]:
        if other_format is not capture_format or other.name != part.name:
            raise _not_a_pair(part.path, other.path)
        if other.files != part.files:
            part = _joined(part, other)
    return capture_format, part


def _joined(part: CapturePart, other: CapturePart) -> CapturePart:
    """Two views given explicitly because they are in different folders."""
    if part.side == other.side:
        raise _not_a_pair(part.path, other.path)
    return CapturePart(part.path, part.name, part.side, other.path)


def _not_a_pair(first: Path, second: Path) -> CaptureError:
    return CaptureError(
        f"{first} and {second} are not the two views of one capture; "
        "specify the left and the right file of the same exposure."
    )
