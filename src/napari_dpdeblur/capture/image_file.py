"""Read PNG and JPEG files; the header is checked before anything is decoded."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL.JpegImagePlugin import JpegImageFile

from napari_dpdeblur.capture.header import ViewHeader
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular, png, read_regular

MAX_PIXELS = 200_000_000
MAX_BYTES = 400_000_000  # of decoded pixels, and of a file
# Photographs compress to a tenth or so. A large picture in a much smaller file is there to fill
# memory; a small one may be uniform.
MAX_RATIO = 100
FREE_BYTES = 80_000_000
DEFLATE_RATIO = 1100
# More scans than this are an attempt to keep the decoder busy.
MAX_JPEG_SCANS = 64
REDUCTION = 8  # of a quick look at a JPEG
# A JPEG may carry a preview and colour profiles before the frame header.
HEADER_BYTES = 1 << 18
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class ImageHeader:
    """Header of an image file."""

    kind: str
    width: int
    height: int
    bits: int
    channels: int
    is_palette: bool = False

    @property
    def data_bytes(self) -> int:
        """Size of the decoded pixels in bytes."""
        return self.width * self.height * self.channels * max(self.bits, 8) // 8

    def __str__(self) -> str:
        names = {1: "greyscale", 2: "greyscale with alpha", 3: "RGB", 4: "RGB with alpha"}
        if self.kind == "JPEG":
            names[4] = "CMYK"
        other = "palette" if self.kind == "PNG" else "palette or other colours in a"
        colour = other if self.is_palette else names.get(self.channels, "unknown")
        return f"{self.bits}-bit {colour} {self.kind}"


def read_image_header(path: Path) -> ImageHeader:
    """Read kind, size, bit depth and channels of a PNG or JPEG from its first bytes."""
    try:
        with open_regular(path) as (file, size_bytes):
            start = file.read(HEADER_BYTES)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    header = parse_image_header(start)
    if header is None:
        raise CaptureError(
            f"{path} is not a PNG or JPEG image, despite its name; open the original file of the "
            "capture."
        )
    if header.width * header.height > MAX_PIXELS or header.width * header.height == 0:
        raise CaptureError(
            f"{path} declares {header.width} x {header.height} px; the size must be between 1 px "
            f"and {MAX_PIXELS // 10**6} megapixels, so the file is damaged."
        )
    if header.data_bytes > most_pixel_bytes(size_bytes):
        raise CaptureError(
            f"{path} declares {header.data_bytes / 1e6:.0f} MB of pixels, more than a photograph "
            f"of {size_bytes} bytes contains or than the limit of {MAX_BYTES // 10**6} MB; the "
            "file is damaged."
        )
    return header


def most_pixel_bytes(size_bytes: int) -> int:
    """Largest size of the decoded pixels of a file of this size that is accepted."""
    # Deflate cannot compress by more than about 1032, so this is also a check for damage.
    free = min(FREE_BYTES, DEFLATE_RATIO * size_bytes)
    return min(MAX_BYTES, max(free, MAX_RATIO * size_bytes))


def parse_image_header(start: bytes) -> ImageHeader | None:
    """Parse the first bytes of a file; None if it is not a PNG or JPEG."""
    if start.startswith(png.SIGNATURE):
        return _parse_png(start)
    if start.startswith(b"\xff\xd8"):
        return _parse_jpeg(start)
    return None


def _parse_png(start: bytes) -> ImageHeader | None:
    if len(start) < 26 or start[12:16] != b"IHDR":
        return None
    width, height, bits, colour_type = struct.unpack(">IIBB", start[16:26])
    if colour_type not in png.CHANNELS:
        return None
    is_palette = colour_type == png.PALETTE
    return ImageHeader("PNG", width, height, bits, png.CHANNELS[colour_type], is_palette)


def _parse_jpeg(start: bytes) -> ImageHeader | None:
    position = 2
    while position + 10 <= len(start) and start[position] == 0xFF:
        marker = start[position + 1]
        if marker in _JPEG_FRAMES:
            bits, height, width, channels = struct.unpack(
                ">BHHB", start[position + 4 : position + 10]
            )
            return ImageHeader("JPEG", width, height, bits, channels)
        position += 2 + int.from_bytes(start[position + 2 : position + 4], "big")
    return None


def read_pixels_header(path: Path) -> ViewHeader:
    """What :func:`read_pixels` returns, without decoding it."""
    header = _plain_header(path)
    return ViewHeader(
        (header.channels, header.height, header.width), np.dtype(f"uint{header.bits}")
    )


def _plain_header(path: Path) -> ImageHeader:
    header = read_image_header(path)
    if header.is_palette or header.channels not in (1, 3) or header.bits not in (8, 16):
        raise CaptureError(f"{path} is not an 8- or 16-bit greyscale or RGB image ({header}).")
    return header


def read_pixels(path: Path) -> np.ndarray:
    """Decode a greyscale or RGB image, without colour or orientation changes: (C, H, W)."""
    header = _plain_header(path)
    pixels = _decode(path, header)
    if pixels is None or pixels.shape[:2] != (header.height, header.width):
        raise CaptureError(f"{path} is damaged or truncated; copy the file again.")
    if pixels.ndim == 2:
        return pixels[None]
    return np.ascontiguousarray(pixels[..., ::-1].transpose(2, 0, 1))  # OpenCV uses BGR


def _decode(path: Path, header: ImageHeader) -> np.ndarray | None:
    # From memory: cv2.imread cannot open every path on every system.
    try:
        data = np.frombuffer(read_regular(path, MAX_BYTES), np.uint8)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    return decode(data, header.kind)


def decode(data: np.ndarray, kind: str, flags: int = cv2.IMREAD_UNCHANGED) -> np.ndarray | None:
    """Decode a PNG or JPEG in memory; None if it is damaged."""
    if kind == "PNG":
        plain = png.plain_png(data.tobytes())
        if plain is None:
            return None
        data = np.frombuffer(plain, np.uint8)
    if kind == "JPEG":
        return _decode_jpeg(data.tobytes(), is_reduced=flags == cv2.IMREAD_REDUCED_GRAYSCALE_8)
    try:
        return cv2.imdecode(data, flags)
    except cv2.error:
        return None


def _decode_jpeg(data: bytes, is_reduced: bool) -> np.ndarray | None:
    """Decode with Pillow: unlike OpenCV it prints nothing, and refuses a truncated file."""
    if data.count(b"\xff\xda") > MAX_JPEG_SCANS:
        return None
    try:
        # The class itself: sizes are checked above, and Image.open would warn about large ones.
        with JpegImageFile(io.BytesIO(data)) as image:
            if is_reduced:
                image.draft("L", (image.width // REDUCTION, image.height // REDUCTION))
            pixels = np.asarray(image)
    except Exception:  # a damaged file makes the decoder fail in many ways
        return None
    return pixels if pixels.ndim == 2 else np.ascontiguousarray(pixels[..., ::-1])  # BGR
