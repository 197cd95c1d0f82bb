"""Find and open captures: from either file of a pair, both files, or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from napari_dpdeblur.capture.canon import CANON_RAW, DPDD_PNG, NUMBERED_JPEG
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture
from napari_dpdeblur.capture.formats import CaptureFormat, CapturePart, Levels
from napari_dpdeblur.capture.pixel import APP_PGM, GARG_PNG, PUBLISHED_PNG
from napari_dpdeblur.errors import CaptureError

# The portrait layout comes first, because its file names match other formats as well.
FORMATS = (GARG_PNG, APP_PGM, PUBLISHED_PNG, DPDD_PNG, NUMBERED_JPEG, CANON_RAW)
PathLike = str | os.PathLike[str]


def open_capture(
    *paths: PathLike, black: float | None = None, white: float | None = None
) -> DualPixelCapture:
    """Open one capture from either file of its pair, both files, or its folder.

    ``black`` and ``white`` override the levels of the format, in raw units.
    """
    if not paths:
        raise CaptureError("No capture was given; specify a file of the pair or its folder.")
    given = [_absolute(path) for path in paths]
    try:
        capture_format, part = _only_one(given)
        if not part.has_partner:
            raise _missing_partner(part)
        return capture_format.load(part, Levels(black, white))
    except OSError as error:
        raise CaptureError(f"{given[0]} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a path with a null character
        raise CaptureError(f"{str(given[0])!r} is not a valid file name.") from error


def find_captures(folder: PathLike) -> list[tuple[Path, ...]]:
    """Files of every complete capture in a folder, sorted: (left, right), or (file,) for raw.

    Subfolders are searched only for layouts that keep each view in its own folder.
    """
    found = {part.files for _, part in _parts_below(_absolute(folder)) if part.has_partner}
    return sorted(found)


def list_captures(paths: Iterable[PathLike]) -> list[tuple[Path, ...]]:
    """Files of every capture in the given files and folders, without duplicates."""
    found: dict[tuple[Path, ...], tuple[Path, ...]] = {}
    for path in map(_absolute, paths):
        inside = find_captures(path) if path.is_dir() else []
        found.update({files: files for files in inside})
        if not inside:  # a file, or a folder to report an error for
            found.setdefault(_only_one([path])[1].files, (path,))
    return list(found.values())


def capture_name(files: Sequence[Path]) -> str:
    """Name of a capture from its files: 001 for `001_left.png`, `001_right.png`."""
    recognised = _recognise(files[0])
    return files[0].stem if recognised is None else recognised[1].name


def looks_like_capture(path: PathLike) -> bool:
    """Whether a file, or a folder with exactly one capture, should be opened as a capture.

    Reads names and a few header bytes, and never raises.
    """
    try:
        resolved = _absolute(path)
        if resolved.is_dir():
            return len(find_captures(resolved)) == 1
        recognised = _recognise(resolved)
        return recognised is not None and _claims(*recognised)
    except (CaptureError, OSError, ValueError):
        return False


def _absolute(path: PathLike) -> Path:
    return Path(path).expanduser().absolute()


def _only_one(given: list[Path]) -> tuple[CaptureFormat, CapturePart]:
    """The one capture that all given paths belong to."""
    found = [_in_folder(path) if path.is_dir() else _from_file(path) for path in given]
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


def _from_file(path: Path) -> tuple[CaptureFormat, CapturePart]:
    if not path.exists():
        raise CaptureError(f"{path} does not exist.")
    recognised = _recognise(path)
    if recognised is None:
        examples = ", ".join(known.example for known in FORMATS)
        raise CaptureError(
            f"{path} is not named like a view of a dual-pixel capture (for example {examples}); "
            "rename it or choose another file."
        )
    return recognised


def _recognise(path: Path) -> tuple[CaptureFormat, CapturePart] | None:
    for known in FORMATS:
        part = known.locate(path)
        if part is not None:
            return known, part
    return None


def _in_folder(folder: Path) -> tuple[CaptureFormat, CapturePart]:
    parts = list(_parts_below(folder))
    complete = {part.files: (known, part) for known, part in parts if part.has_partner}
    if len(complete) == 1:
        return next(iter(complete.values()))
    if complete:
        names = sorted({part.name for _, part in complete.values()})
        raise CaptureError(
            f"{folder} contains {len(complete)} captures ({names[0]} to {names[-1]}); specify a "
            "file of the one to open."
        )
    if parts:
        raise _missing_partner(parts[0][1])
    raise CaptureError(
        f"{folder} contains no dual-pixel capture; expected a pair of files such as "
        f"{APP_PGM.example} and its partner."
    )


def _parts_below(folder: Path) -> Iterator[tuple[CaptureFormat, CapturePart]]:
    """Every file in a folder that is recognised as a view of a capture."""
    if not folder.is_dir():
        raise CaptureError(f"{folder} is not a folder.")
    for known in FORMATS:
        paths = {path for pattern in known.patterns for path in folder.glob(pattern)}
        for path in sorted(paths):
            recognised = _recognise(path)
            if recognised is not None and recognised[0] is known and _claims(*recognised):
                yield recognised


def _claims(known: CaptureFormat, part: CapturePart) -> bool:
    try:
        return known.claims(part)
    except (CaptureError, OSError):
        return False


def _missing_partner(part: CapturePart) -> CaptureError:
    partner = part.files[1 - part.side]
    side = ("left", "right")[1 - part.side]
    return CaptureError(
        f"{part.path} has no partner: the {side} view {partner.name} is missing in "
        f"{partner.parent}; copy both files of the capture."
    )


def _not_a_pair(first: Path, second: Path) -> CaptureError:
    return CaptureError(
        f"{first} and {second} are not the two views of one capture; "
        "specify the left and the right file of the same exposure."
    )
