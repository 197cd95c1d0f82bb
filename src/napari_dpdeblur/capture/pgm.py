"""Read and write binary PGM (P5) files, strictly as the capture app writes them.

The header is checked against the file size before any pixel is allocated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular, write_atomically

MAX_PIXELS = 200_000_000
HEADER_BYTES = 4096
APP_PIXEL_ASPECT = 2.0

# Whitespace and comments may stand between the four words; exactly one whitespace byte follows
# the last one. The app writes spaces only.
_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"
_HEADER = re.compile(
    rb"P5" + _GAP + rb"(\d{1,10})" + _GAP + rb"(\d{1,10})" + _GAP + rb"(\d{1,10})\s"
)
_ASPECT = re.compile(rb"#\s*pixel_aspect\s+([0-9.]+)\s*[\r\n]")


@dataclass(frozen=True)
class PgmHeader:
    """Size, maximum value and offset of the pixels; ``pixel_aspect`` if a comment has it."""

    width: int
    height: int
    max_value: int
    offset_bytes: int
    pixel_aspect: float | None = None

    @property
    def bits(self) -> int:
        """Bits per stored value."""
        return 8 if self.max_value < 256 else 16

    @property
    def data_bytes(self) -> int:
        """Size of the pixels in bytes, according to the header."""
        return self.width * self.height * self.bits // 8


def peek_pgm_header(path: Path) -> PgmHeader:
    """Parse the header without checking that the pixels are complete."""
    return _peek(path)[0]


def read_pgm_header(path: Path) -> PgmHeader:
    """Parse the header and check it against the file size, without reading pixels."""
    header, size_bytes = _peek(path)
    _check_size(header, size_bytes, path)
    return header


def _peek(path: Path) -> tuple[PgmHeader, int]:
    try:
        with open_regular(path) as (file, size_bytes):
            start = file.read(HEADER_BYTES)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    return _parse_header(start, path), size_bytes


def _parse_header(start: bytes, path: Path) -> PgmHeader:
    match = _HEADER.match(start)
    if match is None:
        raise CaptureError(
            f"{path} is not a binary PGM image (it does not start with a P5 header); "
            "open the file written by the capture app."
        )
    width, height, max_value = (int(word) for word in match.groups())
    if width == 0 or height == 0 or not 0 < max_value <= 65535:
        raise CaptureError(
            f"{path} has an invalid PGM header: {width} x {height} px with values up to "
            f"{max_value}; copy the file again."
        )
    comment = _ASPECT.search(match.group(0))
    aspect = _positive(comment.group(1)) if comment else None
    return PgmHeader(width, height, max_value, match.end(), aspect)


def _positive(word: bytes) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value > 0 else None


def _check_size(header: PgmHeader, size_bytes: int, path: Path) -> None:
    if header.width * header.height > MAX_PIXELS:
        raise CaptureError(
            f"{path} declares {header.width} x {header.height} px, more than the limit of "
            f"{MAX_PIXELS // 10**6} megapixels; the file is damaged."
        )
    found = size_bytes - header.offset_bytes
    if found < header.data_bytes:
        raise CaptureError(
            f"{path} is truncated: its header declares {header.data_bytes} bytes of pixels, "
            f"but only {max(found, 0)} follow; copy the file again."
        )
    if found > header.data_bytes:
        raise CaptureError(
            f"{path} has {found - header.data_bytes} bytes more than its header declares; "
            "copy the file again."
        )


def read_pgm(path: Path) -> tuple[np.ndarray, PgmHeader]:
    """Read pixels (H, W) as uint8 or uint16, and the header."""
    header = read_pgm_header(path)
    dtype = np.dtype("u1") if header.bits == 8 else np.dtype(">u2")
    try:
        with open_regular(path) as (file, _):
            count = header.width * header.height
            flat = np.fromfile(file, dtype, count, offset=header.offset_bytes)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    if flat.size < count:
        raise CaptureError(f"{path} was truncated while it was read; copy the file again.")
    pixels = flat.reshape(header.height, header.width)
    return pixels.astype(dtype.newbyteorder("=")), header


def write_pgm(
    path: Path,
    pixels: np.ndarray,
    pixel_aspect: float = APP_PIXEL_ASPECT,
    max_value: int | None = None,
) -> None:
    """Write (H, W) uint8 or uint16 pixels with the app's header.

    A pixel aspect other than the app's is stored in a comment, which :func:`read_pgm` parses.
    """
    if pixels.ndim != 2 or pixels.dtype not in (np.uint8, np.uint16) or pixels.size == 0:
        raise CaptureError(
            f"{path}: a PGM stores one plane of uint8 or uint16 values, not {pixels.dtype} with "
            f"shape {pixels.shape}."
        )
    limit = max_value or int(np.iinfo(pixels.dtype).max)
    if (limit < 256) != (pixels.dtype == np.uint8) or int(pixels.max()) > limit:
        raise CaptureError(
            f"{path}: {pixels.dtype} values up to {int(pixels.max())} do not fit a PGM with a "
            f"maximum value of {limit}."
        )
    is_app_like = pixel_aspect == APP_PIXEL_ASPECT
    comment = "" if is_app_like else f"# pixel_aspect {pixel_aspect:g}\n"
    header = f"P5 {comment}{pixels.shape[1]} {pixels.shape[0]} {limit} "
    stored = pixels.astype(pixels.dtype.newbyteorder(">"))
    try:
        write_atomically(path, header.encode("ascii") + stored.tobytes())
    except OSError as error:
        raise CaptureError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_pgm_pair(
    folder: Path,
    name: str,
    left16: np.ndarray,
    right16: np.ndarray,
    pixel_aspect: float = APP_PIXEL_ASPECT,
) -> tuple[Path, Path]:
    """Write ``<name>_left.pgm`` and ``<name>_right.pgm`` as the capture app does."""
    left, right = folder / f"{name}_left.pgm", folder / f"{name}_right.pgm"
    write_pgm(left, left16, pixel_aspect)
    write_pgm(right, right16, pixel_aspect)
    return left, right
