"""Find captures: the format of a file by its name and content, and all captures in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from napari_dpdeblur.capture.canon import CANON_CR2, CANON_CR3, DPDD_PNG, NUMBERED_JPEG
from napari_dpdeblur.capture.formats import CaptureFormat, CapturePart
from napari_dpdeblur.capture.picture import PICTURE_SUFFIXES
from napari_dpdeblur.capture.picture_pair import (
    PICTURE_PAIR,
    is_plausible,
    is_unsure,
    locate_by_name,
    look_alike,
    pair_of,
)
from napari_dpdeblur.capture.pixel import APP_PGM, GARG_PNG, PUBLISHED_PNG
from napari_dpdeblur.errors import CaptureError, shortened
from napari_dpdeblur.files.reading import accessing

# The portrait layout comes first, because its file names match other formats as well. Pairs of any
# pictures come after all of them.
FORMATS = (GARG_PNG, APP_PGM, PUBLISHED_PNG, DPDD_PNG, NUMBERED_JPEG, CANON_CR2, CANON_CR3)
# A folder with more pairs than this is not opened as one capture, however few of them are ours.
MAX_PAIRS_TO_CHECK = 8
PathLike = str | os.PathLike[str]
Recognised = tuple[CaptureFormat, CapturePart]


def find_captures(folder: PathLike) -> list[tuple[Path, ...]]:
    """Files of every complete capture in a folder, sorted: (left, right), or (file,) for raw.

    Subfolders are searched only for layouts that keep each view in its own folder.
    """
    with accessing(folder, CaptureError):
        found = {part.files for _, part in _parts_below(absolute_path(folder)) if part.has_partner}
        return sorted(found)


def list_captures(paths: Iterable[PathLike]) -> list[tuple[Path, ...]]:
    """Files of every capture in the given files and folders, without duplicates."""
    found: dict[tuple[Path, ...], tuple[Path, ...]] = {}
    for path in map(absolute_path, paths):
        with accessing(path, CaptureError):
            inside = find_captures(path) if path.is_dir() else []
            found.update({files: files for files in inside})
            if not inside:  # a file, or a folder to report an error for
                found.setdefault(recognised_at(path)[1].files, (path,))
    return list(found.values())


def capture_name(files: Sequence[Path]) -> str:
    """Name of a capture from its files: 001 for `001_left.png`, `001_right.png`."""
    recognised = recognise(files[0])
    return files[0].stem if recognised is None else recognised[1].name


def looks_like_capture(path: PathLike) -> bool:
    """Whether a file, or a folder with exactly one capture, should be opened as a capture.

    Reads names and a few header bytes, of ordinary pictures also the content; never raises.
    """
    try:
        resolved = absolute_path(path)
        if resolved.is_dir():
            return sole_capture(resolved) is not None
        recognised = recognise(resolved)
        return recognised is not None and claims(*recognised) and _confirmed(*recognised)
    except (CaptureError, OSError, ValueError):
        return False


def looks_like_pair(first: PathLike, second: PathLike) -> bool:
    """Whether two files given together should be opened as a capture; never raises."""
    try:
        paths = absolute_path(first), absolute_path(second)
        recognised = [recognise(path) for path in paths]
        if any(found is not None and found[0] is not PICTURE_PAIR for found in recognised):
            return all(looks_like_capture(path) for path in paths)
        return look_alike(pair_of(*paths)[0])
    except (CaptureError, OSError, ValueError):
        return False


def sole_capture(folder: PathLike) -> tuple[Path, ...] | None:
    """Files of the only capture in a folder, None if there are none or several.

    Quick in large folders, and sure that two ordinary pictures look alike.
    """
    resolved = absolute_path(folder)
    pairs = [part for part in map(locate_by_name, _pictures(resolved)) if part is not None]
    if sum(part.side == 0 and part.has_partner for part in pairs) > MAX_PAIRS_TO_CHECK:
        return None
    found: dict[tuple[Path, ...], Recognised] = {}
    for recognised in _parts_below(resolved):
        if recognised[1].has_partner:
            found[recognised[1].files] = recognised
        if len(found) > 1:
            return None
    return next((files for files, known in found.items() if _confirmed(*known)), None)


def plausible_captures(folder: PathLike) -> Iterator[tuple[Path, ...]]:
    """Files of each complete capture in a folder; of ordinary pictures only pairs that look alike.

    One by one, because looking at many pictures takes long.
    """
    seen: set[tuple[Path, ...]] = set()
    with accessing(folder, CaptureError):
        for known, part in _parts_below(absolute_path(folder)):
            if part.has_partner and part.files not in seen:
                seen.add(part.files)
                if _confirmed(known, part):
                    yield part.files


def _pictures(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix.lower() in PICTURE_SUFFIXES]


def _confirmed(known: CaptureFormat, part: CapturePart) -> bool:
    """Whether the content agrees, where names alone would claim other people's pictures."""
    return known is not PICTURE_PAIR or is_plausible(part)


def absolute_path(path: PathLike) -> Path:
    """The path without `~` and not relative; links are kept."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:  # ~name of a user who does not exist
        raise CaptureError(
            f"{shortened(path)} does not exist, because there is no such user; write the path "
            "without ~."
        ) from error


def recognised_at(path: Path) -> Recognised:
    """The capture of a file, or the only one in a folder."""
    return in_folder(path) if path.is_dir() else from_file(path)


def check_exists(path: Path) -> None:
    """Raise CaptureError if there is nothing at this path."""
    if not path.exists():
        raise CaptureError(f"{path} does not exist.")


def from_file(path: Path) -> Recognised:
    """The capture that a file belongs to."""
    check_exists(path)
    recognised = recognise(path)
    if recognised is None:
        examples = ", ".join(known.example for known in (*FORMATS, PICTURE_PAIR))
        raise CaptureError(
            f"{path} is not named like a view of a dual-pixel capture (for example {examples}); "
            "specify both files of the pair, or choose another file."
        )
    known, part = recognised
    if known is PICTURE_PAIR and is_unsure(part) and part.has_partner and not look_alike(part):
        raise CaptureError(
            f"{path} and {part.files[1 - part.side].name} do not look like the two views of one "
            "capture; specify both files to open them anyway."
        )
    return recognised


def recognise(path: Path) -> Recognised | None:
    """The first format for files of this name; any pair of pictures if none claims the content."""
    located = ((known, known.locate(path)) for known in FORMATS)
    first = next(((known, part) for known, part in located if part is not None), None)
    if first is not None and claims(*first):
        return first
    any_part = locate_by_name(path)
    if any_part is None or (first is not None and not claims(PICTURE_PAIR, any_part)):
        return first
    return PICTURE_PAIR, any_part


def in_folder(folder: Path) -> Recognised:
    """The only capture in a folder."""
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
        raise missing_partner(parts[0][1])
    raise rejected_view(folder) or CaptureError(
        f"{folder} contains no dual-pixel capture; expected a pair of files such as "
        f"{APP_PGM.example} and its partner."
    )


def rejected_view(folder: Path) -> CaptureError | None:
    """What is wrong with the first file of a folder that is only named like a view."""
    for known in FORMATS:
        for path in sorted({path for pattern in known.patterns for path in folder.glob(pattern)}):
            part = known.locate(path)
            try:
                if part is not None:
                    known.claims(part)
            except CaptureError as error:
                return error
            except OSError as error:
                return CaptureError(f"{path} cannot be read: {error.strerror or error}.")
    return None


def _parts_below(folder: Path) -> Iterator[Recognised]:
    """Every file in a folder that is recognised as a view of a capture."""
    if not folder.is_dir():
        raise CaptureError(f"{folder} is not a folder.")
    for known in (*FORMATS, PICTURE_PAIR):
        paths = {path for pattern in known.patterns for path in folder.glob(pattern)}
        for path in sorted(paths):
            recognised = recognise(path)
            if recognised is not None and recognised[0] is known and claims(*recognised):
                yield recognised


def claims(known: CaptureFormat, part: CapturePart) -> bool:
    """Whether a format takes a file for its own; a file that cannot be read is nobody's."""
    try:
        return known.claims(part)
    except (CaptureError, OSError):
        return False


def missing_partner(part: CapturePart) -> CaptureError:
    """An error that names the missing view."""
    partner = part.files[1 - part.side]
    side = ("left", "right")[1 - part.side]
    return CaptureError(
        f"{part.path} has no partner: the {side} view {partner.name} is missing in "
        f"{partner.parent}; copy both files of the capture."
    )
