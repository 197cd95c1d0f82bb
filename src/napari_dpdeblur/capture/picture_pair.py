"""Read two pictures of any camera as a pair: `l.png` and `r.png`, or whatever they are called.

Nothing is known about such files but what they contain, so this format comes after all others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture
from napari_dpdeblur.capture.formats import (
    CaptureFormat,
    CapturePart,
    Levels,
    pair_header,
    read_view_headers,
    read_views,
    with_pixels,
)
from napari_dpdeblur.capture.header import LINEAR, SRGB, CaptureHeader
from napari_dpdeblur.capture.picture import (
    PICTURE_SUFFIXES,
    decode_reduced,
    read_picture_header,
    read_planes,
    read_planes_header,
)
from napari_dpdeblur.errors import CaptureError

SIDES = (("left", "right"), ("l", "r"), ("a", "b"))
# These letters also number pictures: only pictures that look alike are a pair.
_UNSURE_WORDS = frozenset("ab")
_SEPARATORS = "_-. "
_NAME = re.compile(r"(.*?)(left|right|[lrab])", re.IGNORECASE)
# Two views of one exposure share their details; two pictures of a series usually do not.
MIN_CORRELATION = 0.8
REDUCED_PX = 64
SHADING_SIGMA_PX = 4.0  # larger structures are shading, which the two views do not share
MAX_COMPARED_PX = 12_000_000
# Linear data of fewer bits are often stored in 16 bits; pictures of a camera's software use them
# all.
MOST_LINEAR_BITS = 14
UNKNOWN_ENCODING = (
    "The files do not say how their 16-bit values are encoded: they are taken as sRGB; set the "
    "encoding if they are linear."
)


def locate_by_name(path: Path) -> CapturePart | None:
    """Recognise `left`, `l` or `a` (any case) as the whole name or at its end."""
    match = _NAME.fullmatch(path.stem) if path.suffix.lower() in PICTURE_SUFFIXES else None
    if match is None:
        return None
    start, word = match.groups()
    if not _is_end_of_name(start, word):
        return None
    words, side = _words_of(word)
    partner = path.with_name(start + _same_case(words[1 - side], word) + path.suffix)
    return CapturePart(path, start.rstrip(_SEPARATORS) or _folder_name(path), side, partner)


def pair_of(first: Path, second: Path) -> tuple[CapturePart, tuple[str, ...]]:
    """Two given files as a pair, and a note if their names do not say which one is left."""
    parts = [locate_by_name(path) for path in (first, second)]
    sides = [part.side for part in parts if part is not None]
    is_named = sorted(sides) == [0, 1]
    left, right = (second, first) if is_named and sides[0] == 1 else (first, second)
    part = CapturePart(left, _common_name(left, right), 0, right)
    if is_named:
        return part, ()
    reason = "The names do not say which view is the left one"
    if len(sides) == 2:
        reason = f"Both files are named like the {('left', 'right')[sides[0]]} view"
    return part, (f"{reason}: {left.name} is taken as the left.",)


def is_unsure(part: CapturePart) -> bool:
    """Whether the name alone does not make a pair."""
    return part.path.stem[-1:].lower() in _UNSURE_WORDS


def look_alike(part: CapturePart) -> bool:
    """Whether both pictures have one size and share their details, but are not identical."""
    left, right = part.files
    if read_picture_header(left) != read_picture_header(right):
        return False
    reduced = [_details(path, *_state(path)) for path in (left, right)]
    norms = [float(np.linalg.norm(picture)) for picture in reduced]
    if min(norms) == 0 or _are_identical(left, right):
        return False
    return float(np.vdot(*reduced)) > MIN_CORRELATION * norms[0] * norms[1]


def is_plausible(part: CapturePart) -> bool:
    """Whether napari may take two pictures with such names for a capture.

    They must look alike; of large ones with clear names, only the headers are compared, because
    decoding them takes seconds.
    """
    left, right = part.files
    header = read_picture_header(left)
    is_quick = header.kind == "JPEG" or header.width * header.height <= MAX_COMPARED_PX
    if is_quick or is_unsure(part):
        return look_alike(part)
    return header == read_picture_header(right) and not _are_identical(left, right)


def _words_of(word: str) -> tuple[tuple[str, str], int]:
    return next((w, w.index(word.lower())) for w in SIDES if word.lower() in w)


def _is_end_of_name(start: str, word: str) -> bool:
    """Whether the word stands apart: `scene_l`, `scene-L`, `sceneL`, `001l`, but not `final`."""
    if not start.strip(_SEPARATORS):
        return not start
    is_apart = start[-1] in _SEPARATORS or start[-1].isdigit()
    return is_apart or len(word) > 1 or (word.isupper() and start[-1].islower())


def _same_case(word: str, model: str) -> str:
    if model[0].islower():
        return word
    return word.upper() if model.isupper() else word.capitalize()


def _folder_name(path: Path) -> str:
    """The folder's name, with that of its parent if it is only a number."""
    folder = path.absolute().parent
    is_number = folder.name.isdigit() and folder.parent.name
    return f"{folder.parent.name}_{folder.name}" if is_number else folder.name or "capture"


def _common_name(left: Path, right: Path) -> str:
    part = locate_by_name(left)
    if part is not None and part.partner is not None and part.partner.name == right.name:
        return part.name
    shared = takewhile(
        lambda letters: letters[0] == letters[1], zip(left.stem, right.stem, strict=False)
    )
    return "".join(letter for letter, _ in shared).rstrip(_SEPARATORS) or left.stem


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@lru_cache(64)  # napari asks several times about a file
def _details(path: Path, size_bytes: int, mtime_ns: int) -> np.ndarray:
    """The picture reduced to 64 px, without its shading."""
    pixels = decode_reduced(path, REDUCED_PX)
    if pixels is None:
        raise CaptureError(f"{path} is damaged or truncated; copy the file again.")
    factor = REDUCED_PX / max(pixels.shape[:2])
    size = [max(round(length * factor), 1) for length in pixels.shape[1::-1]]
    small = np.atleast_3d(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))
    grey = small[..., :3].mean(axis=2, dtype=np.float32)
    return np.asarray(grey - cv2.GaussianBlur(grey, (0, 0), SHADING_SIGMA_PX))


def _are_identical(left: Path, right: Path) -> bool:
    return _state(left)[0] == _state(right)[0] and left.read_bytes() == right.read_bytes()


def _claims(part: CapturePart) -> bool:
    """Two pictures; those whose names mean little must also look alike."""
    if part.partner is None or not part.partner.is_file():
        return False
    for path in part.files:
        read_picture_header(path)
    return not is_unsure(part) or look_alike(part)


def _load(part: CapturePart, levels: Levels) -> DualPixelCapture:
    raw = read_views(part, read_planes)
    left, right = part.files
    if np.array_equal(raw[0], raw[1]):
        raise CaptureError(
            f"{left} and {right.name} are identical, so nothing can be computed from them; choose "
            "the left and the right view."
        )
    header = _read_header(part, levels)
    capture = with_pixels(header, raw, part, _levels(raw.dtype, levels))
    return replace(capture, notes=_notes(raw, levels))


def _read_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    view = read_view_headers(part, read_planes_header)
    is_unclear = view.dtype == np.uint16 and levels.encoding is None
    return pair_header(
        part,
        PICTURE_PAIR.id,
        view,
        _levels(view.dtype, levels),
        encoding=levels.encoding or (LINEAR if view.dtype == np.float32 else SRGB),
        notes=(UNKNOWN_ENCODING,) * is_unclear,
    )


def _levels(dtype: np.dtype[Any], levels: Levels) -> tuple[float, float]:
    return levels.resolve(0.0, 1.0 if dtype == np.float32 else float(np.iinfo(dtype).max))


def suggested_levels(raw: np.ndarray) -> Levels:
    """What 16-bit values of unknown origin probably are.

    The software of cameras develops to sRGB and uses the whole range; values that fill only 14 bits
    or fewer are linear.
    """
    bits = max(int(raw.max()), 1).bit_length()
    if raw.dtype != np.uint16 or bits > MOST_LINEAR_BITS:
        return Levels(encoding=SRGB)
    return Levels(0.0, float(2 ** max(bits, 8) - 1), LINEAR)


def is_unclear(capture: DualPixelCapture) -> bool:
    """Whether the files leave open how their values are encoded: 16 bits of unknown origin."""
    return capture.source.format == PICTURE_PAIR.id and capture.raw.dtype == np.uint16


def _notes(raw: np.ndarray, levels: Levels) -> tuple[str, ...]:
    if raw.dtype != np.uint16 or levels.encoding is not None:
        return ()
    suggested = suggested_levels(raw)
    if suggested.encoding == SRGB:
        return (UNKNOWN_ENCODING,)
    return (
        f"The 16-bit values are taken as sRGB, but reach only {raw.max()}; if they are linear, set "
        f"the encoding to linear and the white level to {suggested.white:g}.",
    )


PICTURE_PAIR = CaptureFormat(
    id="picture-pair",
    example="l.png",
    patterns=tuple(f"*{end}" for suffix in PICTURE_SUFFIXES for end in (suffix, suffix.upper())),
    locate=locate_by_name,
    claims=_claims,
    load=_load,
    read_header=_read_header,
)
