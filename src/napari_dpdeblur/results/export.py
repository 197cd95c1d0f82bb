"""Export for other programs: 16-bit PNG and TIFF, coloured defocus map, layer stack.

All files are written atomically.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image, PngImagePlugin

from napari_dpdeblur.array_types import AnyFloatArray
from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import atomic_file
from napari_dpdeblur.results.defocus_colors import color_scale, painted
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.results.tiff_files import SOFTWARE, write_image, write_mpi

PNG, TIFFS = ".png", (".tif", ".tiff")


def srgb_encode(linear: AnyFloatArray) -> npt.NDArray[np.float32]:
    """Apply the sRGB transfer curve (IEC 61966-2-1), clipped to 0..1; any shape, NaN becomes 0."""
    values = np.clip(np.nan_to_num(np.asarray(linear, np.float32)), 0.0, 1.0)
    return linear_to_srgb(values)


def srgb_bytes(linear: AnyFloatArray) -> npt.NDArray[np.uint8]:
    """Apply the sRGB curve and convert to uint8 by table lookup; several times faster."""
    table = _srgb_table()
    index = np.multiply(linear, len(table) - 1, dtype=np.float32)
    np.fmax(index, 0.0, out=index)  # NaN too
    np.minimum(index, len(table) - 1, out=index)
    return table[np.rint(index, out=index).astype(np.uint16)]


@cache
def _srgb_table() -> npt.NDArray[np.uint8]:
    """uint8 of 65536 linear values from 0 to 1: each of the darkest codes covers 20 of them."""
    return np.round(255 * srgb_encode(np.linspace(0, 1, 2**16))).astype(np.uint8)


def display_values(
    image: AnyFloatArray, white: float | None = None, dtype: npt.DTypeLike = np.uint16
) -> npt.NDArray[np.unsignedinteger]:
    """Convert linear (C, H, W) to display values (H, W) or (H, W, 3): uint8 or uint16.

    ``white`` is the linear value of full scale; None: close to the maximum.
    """
    white = white_point(image) if white is None else white
    planes_last = np.moveaxis(np.asarray(image, np.float32), 0, -1)
    values = planes_last / np.float32(max(white, 1e-12))
    scale = np.iinfo(dtype).max
    encoded = srgb_bytes(values) if scale == 255 else np.round(scale * srgb_encode(values))
    pixels = encoded.astype(dtype, copy=False)
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels


def write_picture(path: Path, image: AnyFloatArray, white: float | None = None) -> Path:
    """Write a linear image (C, H, W) as sRGB, 16-bit PNG or TIFF."""
    pixels = display_values(image, white)
    writers: dict[str, Callable[[Path], None]] = {PNG: lambda p: _write_png16(p, pixels)}
    writers |= dict.fromkeys(TIFFS, lambda p: _write_tiff16(p, pixels))
    return _write(path, writers, "the all-in-focus image")


def write_defocus(
    path: Path,
    defocus_map: AnyFloatArray,
    limits: tuple[float, float] | None = None,
    colors: tuple[str, npt.NDArray[np.uint8]] | None = None,
) -> Path:
    """Write a defocus map (H, W): TIFF stores the values (float32), PNG shows them in colour.

    ``limits`` are the defocus scales of the first and the last colour, stored in the text of the
    PNG. ``colors``: name and palette (N, 3); None: those of :mod:`.defocus_colors`.
    """
    values = np.asarray(defocus_map, np.float32)
    scale = color_scale(values, limits)
    name, palette = colors or (scale.name, scale.palette)
    lowest, highest = limits if limits and colors else scale.limits

    def write_tiff(target: Path) -> None:
        write_image(target, values, content="defocus map", unit="defocus scale")

    def write_png(target: Path) -> None:
        text = PngImagePlugin.PngInfo()
        text.add_text("Software", SOFTWARE)
        text.add_text("Description", f"defocus scale, {name} from {lowest:.6g} to {highest:.6g}")
        picture = Image.fromarray(painted(values, (lowest, highest), palette))
        picture.save(target, format="PNG", pnginfo=text)

    return _write(path, {PNG: write_png, **dict.fromkeys(TIFFS, write_tiff)}, "the defocus map")


def write_distance(path: Path, distance_map: AnyFloatArray) -> Path:
    """Write distances in metres (H, W) as a float32 TIFF; infinity stays infinity."""
    values = np.asarray(distance_map, np.float32)

    def write_tiff(target: Path) -> None:
        write_image(target, values, content="distance map", unit="m")

    return _write(path, dict.fromkeys(TIFFS, write_tiff), "the distance map")


def write_layer_stack(
    path: Path,
    color: AnyFloatArray,
    alpha: AnyFloatArray,
    defocus_scales: npt.ArrayLike,
    defocus: AnyFloatArray | None = None,
) -> Path:
    """Write layers (L, C, H, W) and (L, 1, H, W) as RGBA pages of a TIFF, linear, back to front.

    ``defocus`` (L, 1, H, W) is that of each pixel of slanted layers.
    """

    def write_tiff(target: Path) -> None:
        own = None if defocus is None else np.asarray(defocus)
        write_mpi(target, np.asarray(color), np.asarray(alpha), defocus_scales, own)

    return _write(path, dict.fromkeys(TIFFS, write_tiff), "the layers")


def _write(path: Path, writers: dict[str, Callable[[Path], None]], what: str) -> Path:
    """Write atomically, in the format given by the suffix."""
    path = Path(path)
    writer = writers.get(path.suffix.lower())
    if writer is None:
        known = " or ".join(writers)
        raise ResultError(f"{path.name} has the wrong suffix for {what}; use {known}.")
    try:
        with atomic_file(path) as beside:
            writer(beside)
    except OSError as error:
        reason = error.strerror or f"{error}; is the disk full?"
        raise ResultError(
            f"{path} cannot be written ({reason}); free disk space or choose another location."
        ) from error
    return path


def _write_png16(path: Path, pixels: npt.NDArray[np.unsignedinteger]) -> None:
    stored = pixels if pixels.ndim == 2 else np.ascontiguousarray(pixels[..., ::-1])
    # Via memory: cv2.imwrite cannot open every path on every system, and hides errors.
    path.write_bytes(cv2.imencode(".png", stored)[1].tobytes())


def _write_tiff16(path: Path, pixels: npt.NDArray[np.unsignedinteger]) -> None:
    tifffile.imwrite(
        path,
        pixels,
        photometric="minisblack" if pixels.ndim == 2 else "rgb",
        compression="zlib",
        description=json.dumps({"content": "all-in-focus image", "encoding": "sRGB"}),
        software=SOFTWARE,
        metadata=None,
    )
