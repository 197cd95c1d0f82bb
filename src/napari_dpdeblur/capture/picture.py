"""Decode any PNG, JPEG or TIFF image with OpenCV, after checking its size."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import tifffile

from napari_dpdeblur.capture.image_file import (
    MAX_BYTES,
    MAX_RATIO,
    decode,
    read_image_header,
)
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular, read_regular

_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def decode_picture(path: Path) -> np.ndarray | None:
    """Pixels (H, W) or (H, W, channels) in BGR order; None if the file cannot be decoded."""
    try:
        data = np.frombuffer(read_regular(path, MAX_BYTES), np.uint8)
        if data[:4].tobytes() in _TIFF_STARTS:
            return _decode_tiff(path, data)
        return decode(data, read_image_header(path).kind)
    except (CaptureError, OSError, cv2.error):
        return None


def _decode_tiff(path: Path, data: np.ndarray) -> np.ndarray | None:
    largest = min(MAX_BYTES, MAX_RATIO * data.size)
    try:
        with open_regular(path) as (file, _), tifffile.TiffFile(file, name=path.name) as tiff:
            page = tiff.pages.first
            tile_px = page.tilewidth * page.tilelength
            too_large = page.nbytes > largest or 16 * tile_px > largest
    except Exception:  # a damaged file makes the decoder fail in many ways
        return None
    return None if too_large else cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
