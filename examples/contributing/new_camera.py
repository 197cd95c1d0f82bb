"""A worked example: a camera whose views are `NAME_A.tif` and `NAME_B.tif`.

Linear values, 12 bits in a 16-bit grey TIFF, black at 256. In the package this would be a module
of `capture/`; the test beside it opens such files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile

from napari_dpdeblur.capture import DualPixelCapture, Source
from napari_dpdeblur.capture.formats import (
    CaptureFormat,
    CapturePart,
    Levels,
    pair_in_folder,
    read_views,
)
from napari_dpdeblur.errors import CaptureError

BLACK, WHITE = 256.0, 4095.0
TIFF_STARTS = (b"II*\0", b"MM\0*")


def _locate(path: Path) -> CapturePart | None:
    """By the name alone: is this a view, and where is its partner?"""
    return pair_in_folder(path, ("A", "B"), (".tif", ".tiff"))


def _claims(part: CapturePart) -> bool:
    """By the first bytes: should napari take this for a capture, without being told?"""
    with part.path.open("rb") as file:
        return file.read(4) in TIFF_STARTS and part.has_partner


def _load(part: CapturePart, levels: Levels) -> DualPixelCapture:
    """Everything that is known about the values goes into the record, and nothing is changed."""
    black, white = levels.resolve(BLACK, WHITE)
    raw = read_views(part, _read_view)
    return DualPixelCapture(raw, black, white, part.name, Source.of(TWIN_TIFF.id, part.files))


def _read_view(path: Path) -> np.ndarray:
    """One view as (C, H, W)."""
    try:
        pixels = np.asarray(tifffile.imread(path))
    except (ValueError, tifffile.TiffFileError) as error:
        raise CaptureError(f"{path} is a damaged TIFF file; copy it again.") from error
    if pixels.ndim != 2 or pixels.dtype != np.uint16:
        raise CaptureError(
            f"{path} has the shape {pixels.shape} and values of {pixels.dtype}, but a view is one "
            "grey picture of 16 bits; export it without colours."
        )
    return pixels[np.newaxis]


TWIN_TIFF = CaptureFormat(
    id="twin-tiff",
    example="0001_A.tif",
    patterns=("*_A.tif", "*_A.tiff"),
    locate=_locate,
    claims=_claims,
    load=_load,
)
