"""Read any PNG, JPEG or TIFF image with OpenCV, after checking its header."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import tifffile

from napari_dpdeblur.capture.header import ViewHeader
from napari_dpdeblur.capture.image_file import (
    MAX_BYTES,
    MAX_PIXELS,
    ImageHeader,
    decode,
    most_pixel_bytes,
    parse_image_header,
    read_image_header,
)
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular, read_regular

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
TIFF = "TIFF"
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TIFF_COLOURS = (tifffile.PHOTOMETRIC.MINISBLACK, tifffile.PHOTOMETRIC.RGB)
_START_BYTES = 32
_ORIENTATION = 274  # TIFF tag
_FLOAT_BITS = 32  # TIFF files of this package hold float32


def decode_picture(path: Path) -> np.ndarray | None:
    """Pixels (H, W) or (H, W, channels) in BGR order; None if the file cannot be decoded."""
    try:
        data = np.frombuffer(read_regular(path, MAX_BYTES), np.uint8)
        if data[:4].tobytes() in _TIFF_STARTS:
            return _decode_tiff(path, data)
        return decode(data, read_image_header(path).kind)
    except (CaptureError, OSError, cv2.error):
        return None


def decode_reduced(path: Path, enough_px: int) -> np.ndarray | None:
    """Like :func:`decode_picture`, but quicker where the format can be decoded at 1/8 of its size.

    The longer side has at least ``enough_px`` pixels, if the picture has them.
    """
    header = read_picture_header(path)
    if header.kind != "JPEG" or max(header.width, header.height) < 8 * enough_px:
        return decode_picture(path)
    try:
        data = np.frombuffer(read_regular(path, MAX_BYTES), np.uint8)
    except OSError:
        return None
    return decode(data, header.kind, cv2.IMREAD_REDUCED_GRAYSCALE_8)


def read_picture_header(path: Path) -> ImageHeader:
    """Kind, size, bit depth and channels (with alpha) of a picture that can be a view."""
    try:
        with open_regular(path) as (file, _):
            start = file.read(_START_BYTES)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    if start[:4] in _TIFF_STARTS:
        header = _read_tiff_header(path)
    elif parse_image_header(start) is None and not start.startswith(b"\xff\xd8"):
        raise CaptureError(
            f"{path} is not a PNG, JPEG or TIFF picture; choose the two views of the capture."
        )
    else:
        header = read_image_header(path)
    if not _can_be_view(header):
        raise CaptureError(f"{path} is not an 8- or 16-bit greyscale or RGB image ({header}).")
    return header


def is_picture(path: Path) -> bool:
    """Whether a file starts like a PNG, JPEG or TIFF picture."""
    try:
        with open_regular(path) as (file, _):
            start = file.read(_START_BYTES)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    is_other = parse_image_header(start) is not None or start.startswith(b"\xff\xd8")
    return is_other or start[:4] in _TIFF_STARTS


def read_planes_header(path: Path) -> ViewHeader:
    """What :func:`read_planes` returns, without decoding it."""
    header = read_picture_header(path)
    dtype = np.dtype("float32" if header.bits == _FLOAT_BITS else f"uint{header.bits}")
    return ViewHeader((1 if header.channels < 3 else 3, header.height, header.width), dtype)


def read_planes(path: Path) -> np.ndarray:
    """Pixels as stored, alpha dropped: (C, H, W), uint8, uint16 or float32."""
    header = read_picture_header(path)
    pixels = decode_picture(path)
    if pixels is None or pixels.shape[:2] != (header.height, header.width):
        raise CaptureError(f"{path} is damaged or truncated; copy the file again.")
    planes = np.atleast_3d(pixels).transpose(2, 0, 1)
    if header.channels < 3:
        return np.ascontiguousarray(planes[:1])
    return np.ascontiguousarray(planes[2::-1])  # OpenCV uses BGR


def _can_be_view(header: ImageHeader) -> bool:
    channels = (1, 3) if header.kind == "JPEG" else (1, 2, 3, 4)
    bits = (8, 16, _FLOAT_BITS) if header.kind == TIFF else (8, 16)
    return not header.is_palette and header.channels in channels and header.bits in bits


def _read_tiff_header(path: Path) -> ImageHeader:
    try:
        with open_regular(path) as (file, _), tifffile.TiffFile(file, name=path.name) as tiff:
            page = tiff.pages.first
            is_plain = page.photometric in _TIFF_COLOURS and page.imagedepth == 1
            is_float = page.sampleformat == tifffile.SAMPLEFORMAT.IEEEFP
            width, height = int(page.imagewidth), int(page.imagelength)
            bits, channels = int(page.bitspersample), int(page.samplesperpixel)
    except Exception as error:  # a damaged file makes the decoder fail in many ways
        raise CaptureError(f"{path} is damaged or truncated; copy the file again.") from error
    if is_float != (bits == _FLOAT_BITS):
        bits = 0  # integers of 32 bits, or floats of another size
    if not 0 < width * height <= MAX_PIXELS:
        raise CaptureError(
            f"{path} declares {width} x {height} px; the size must be between 1 px and "
            f"{MAX_PIXELS // 10**6} megapixels, so the file is damaged."
        )
    return ImageHeader(TIFF, width, height, bits, channels, is_palette=not is_plain)


def _decode_tiff(path: Path, data: np.ndarray) -> np.ndarray | None:
    largest = most_pixel_bytes(data.size)
    try:
        with open_regular(path) as (file, _), tifffile.TiffFile(file, name=path.name) as tiff:
            page = tiff.pages.first
            tile_px = page.tilewidth * page.tilelength
            too_large = page.nbytes > largest or 16 * tile_px > largest
            data = _without_orientation(data, page)
    except Exception:  # a damaged file makes the decoder fail in many ways
        return None
    if too_large:
        return None
    with _quiet():
        return cv2.imdecode(data, cv2.IMREAD_UNCHANGED)


def _without_orientation(data: np.ndarray, page: tifffile.TiffPage) -> np.ndarray:
    """The file as if it were upright: OpenCV turns a TIFF as its tag says, but no other picture."""
    tag = page.tags.get(_ORIENTATION)
    if tag is None or tag.dtype != tifffile.DATATYPE.SHORT or tag.count != 1:
        return data
    start, order = int(tag.valueoffset), page.parent.byteorder
    upright = np.frombuffer(struct.pack(f"{order}H", 1), np.uint8)
    return np.concatenate([data[:start], upright, data[start + 2 :]])


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the complaints of libtiff, which OpenCV logs, from standard error."""
    before = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        cv2.utils.logging.setLogLevel(before)
