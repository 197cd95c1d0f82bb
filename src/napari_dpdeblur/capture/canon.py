"""Read captures of Canon dual-pixel cameras: two published datasets and raw files (CR2, CR3).

The raw reader follows the documented layout (frame 0 = A + B, frame 1 = A). Its arithmetic is
tested, but it has not been tried on a real file.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.capture.camera_optics import CameraOptics
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.formats import (
    CaptureFormat,
    CapturePart,
    Levels,
    pair_header,
    pair_in_folder,
    read_view_headers,
    read_views,
    with_pixels,
)
from napari_dpdeblur.capture.header import SRGB, CaptureHeader, ViewHeader
from napari_dpdeblur.capture.image_file import (
    read_image_header,
    read_pixels,
    read_pixels_header,
)
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular

LEFT_RIGHT = ("L", "R")
_DPDD_FOLDER_ENDS = ("_l", "_r")
_CR2_MARK = b"CR\x02"
_CR3_MARK = b"ftypcrx "
MAX_RAW_PIXELS = 100_000_000


def _locate_dpdd(path: Path) -> CapturePart | None:
    """``<name>_L.png`` with its partner beside it or in the sibling folder ``*_r/source``."""
    part = pair_in_folder(path, LEFT_RIGHT, (".png",))
    if part is None or part.partner is None:
        return None
    end, other_end = (_DPDD_FOLDER_ENDS[i] for i in (part.side, 1 - part.side))
    split = path.parent.parent
    if path.parent.name == "source" and split.name.endswith(end):
        sibling = split.with_name(split.name.removesuffix(end) + other_end)
        partner = sibling / "source" / part.partner.name
        return CapturePart(path, part.name, part.side, partner)
    return part


def _claims_dpdd(part: CapturePart) -> bool:
    """RGB with a partner; a single 8-bit RGB image could be anything."""
    header = read_image_header(part.path)
    in_dataset = part.path.parent.name == "source"
    is_view = header.channels == 3 and header.kind == "PNG" and (header.bits == 16 or in_dataset)
    return is_view and (in_dataset or part.has_partner)


def _locate_jpeg(path: Path) -> CapturePart | None:
    part = pair_in_folder(path, LEFT_RIGHT, (".jpg", ".jpeg"))
    return part if part is not None and part.name.isdigit() else None


def _claims_jpeg(part: CapturePart) -> bool:
    return part.has_partner and all(read_image_header(p).kind == "JPEG" for p in part.files)


def _load_dpdd(part: CapturePart, levels: Levels) -> DualPixelCapture:
    return _load_srgb(part, levels, DPDD_PNG.id)


def _load_jpeg(part: CapturePart, levels: Levels) -> DualPixelCapture:
    return _load_srgb(part, levels, NUMBERED_JPEG.id)


def _load_srgb(part: CapturePart, levels: Levels, format_id: str) -> DualPixelCapture:
    """Views developed by Canon's software: sRGB-encoded, without a black level."""
    raw = read_views(part, read_pixels)
    header = _read_srgb_header(part, levels, format_id)
    return with_pixels(header, raw, part, _srgb_levels(raw.dtype, levels))


def _read_srgb_header(part: CapturePart, levels: Levels, format_id: str) -> CaptureHeader:
    view = read_view_headers(part, read_pixels_header)
    return pair_header(part, format_id, view, _srgb_levels(view.dtype, levels), encoding=SRGB)


def _read_dpdd_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    return _read_srgb_header(part, levels, DPDD_PNG.id)


def _read_jpeg_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    return _read_srgb_header(part, levels, NUMBERED_JPEG.id)


def _srgb_levels(dtype: np.dtype[Any], levels: Levels) -> tuple[float, float]:
    return levels.resolve(0.0, float(np.iinfo(dtype).max))


def _locate_cr2(path: Path) -> CapturePart | None:
    return CapturePart(path, path.stem) if path.suffix.lower() == ".cr2" else None


def _locate_cr3(path: Path) -> CapturePart | None:
    return CapturePart(path, path.stem) if path.suffix.lower() == ".cr3" else None


def _claims_cr2(part: CapturePart) -> bool:
    with open_regular(part.path) as (file, _):
        return file.read(11)[8:] == _CR2_MARK


def _claims_cr3(part: CapturePart) -> bool:
    with open_regular(part.path) as (file, _):
        return file.read(12)[4:] == _CR3_MARK


def _load_cr2(part: CapturePart, levels: Levels) -> DualPixelCapture:
    return _load_raw(part, levels, CANON_CR2.id)


def _load_cr3(part: CapturePart, levels: Levels) -> DualPixelCapture:
    return _load_raw(part, levels, CANON_CR3.id)


def _load_raw(part: CapturePart, levels: Levels, format_id: str) -> DualPixelCapture:
    with _raw_frames(part.path) as (both, first):
        views, invalid, white = separate_views(both, first, part.path)
        optics = _raw_optics(both)
    black_level, white_level = levels.resolve(0.0, white)
    source = Source.of(format_id, part.files)
    return DualPixelCapture(
        views, black_level, white_level, part.name, source, invalid=invalid, optics=optics
    )


def _read_cr2_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    return _read_raw_header(part, levels, CANON_CR2.id)


def _read_cr3_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    return _read_raw_header(part, levels, CANON_CR3.id)


def _read_raw_header(part: CapturePart, levels: Levels, format_id: str) -> CaptureHeader:
    """Size and optics; nothing is unpacked, so the white level stays unknown."""
    with _raw_frames(part.path) as (both, first):
        sizes = [(image.sizes.height, image.sizes.width) for image in (both, first)]
        optics = _raw_optics(both)
    if sizes[0] != sizes[1]:
        raise _no_second_frame(part.path)
    height, width = (int(size) // 2 for size in sizes[0])
    view = ViewHeader((3, height, width), np.dtype(np.float32))
    found = (0.0 if levels.black is None else levels.black, levels.white)
    return pair_header(part, format_id, view, found, optics=optics)


@contextmanager
def _raw_frames(path: Path) -> Iterator[tuple[Any, Any]]:
    """Both frames of a raw file, not unpacked yet."""
    rawpy = _import_rawpy()
    try:
        with open_regular(path):  # the decoder would block on a pipe
            pass
        with (
            rawpy.imread(str(path), shot_select=0) as both,
            rawpy.imread(str(path), shot_select=1) as first,
        ):
            _check_raw_size(both, path)
            _check_raw_size(first, path)
            yield both, first
    except CaptureError:
        raise
    except Exception as error:  # a damaged file makes the decoder fail in many ways
        raise CaptureError(
            f"{path} cannot be read as a dual-pixel raw file ({error}); enable Dual Pixel RAW in "
            "the camera."
        ) from error


def _no_second_frame(path: Path) -> CaptureError:
    return CaptureError(
        f"{path} is not a dual-pixel raw file: it has no second frame of the same size."
    )


def _raw_optics(image: Any) -> CameraOptics | None:
    """Focal length and aperture as the decoder reports them; it knows no focus distance."""
    found = getattr(image, "other", None)
    names = {"focal_length_mm": "focal_length", "f_number": "aperture"}
    values = {name: float(getattr(found, own, 0) or 0) for name, own in names.items()}
    known = {name: value for name, value in values.items() if 0 < value < math.inf}
    return CameraOptics.of(known) if known else None


def _check_raw_size(image: Any, path: Path) -> None:
    """Check the size before pixels are unpacked."""
    sizes = image.sizes
    if sizes.raw_height * sizes.raw_width > MAX_RAW_PIXELS:
        raise CaptureError(
            f"{path} declares {sizes.raw_width} x {sizes.raw_height} px, more than the limit of "
            f"{MAX_RAW_PIXELS // 10**6} megapixels; the file is damaged."
        )


def _import_rawpy() -> Any:
    try:
        return importlib.import_module("rawpy")
    except ImportError as error:
        raise CaptureError(
            "Canon raw files require rawpy; install it with pip install 'napari-dpdeblur[canon]'."
        ) from error


def separate_views(both: Any, first: Any, path: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Split two frames of a dual-pixel raw file into A and B = (A + B) - A.

    ``both`` (A + B) and ``first`` (A) are rawpy images. Each 2 x 2 Bayer cell becomes one RGB
    pixel (greens averaged), so nothing is interpolated across edges. Returns black-subtracted
    views float32 (2, 3, H/2, W/2), the mask (H/2, W/2) of pixels where A + B clips, and the white
    level above black. Not yet tried on a real file.
    """
    if both.raw_image_visible.shape != first.raw_image_visible.shape:
        raise _no_second_frame(path)
    # The decoder may not know the black level of the second frame: it is that of the first.
    levels = [image.black_level_per_channel for image in (both, first)]
    total = _above_black(both, levels[0])
    view_a = _above_black(first, levels[1] if any(levels[1]) else levels[0])
    if np.array_equal(both.raw_image_visible, first.raw_image_visible):
        raise CaptureError(
            f"{path} is not a dual-pixel raw file: it has only one frame; enable Dual Pixel RAW in "
            "the camera."
        )
    clips = _clips(both)
    views = np.stack([_bayer_to_rgb(plane, both) for plane in (view_a, total - view_a)])
    height, width = views.shape[-2:]
    cells = clips[: 2 * height, : 2 * width].reshape(height, 2, width, 2)
    white = float(both.white_level) - float(max(both.black_level_per_channel))
    return views, np.asarray(cells.any(axis=(1, 3))), white


def _clips(both: Any) -> np.ndarray:
    """Where the sum is at its white level, which it reaches a stop before either half."""
    camera_white = getattr(both, "camera_white_level_per_channel", None)
    whites = np.full(len(both.black_level_per_channel), float(both.white_level))
    if camera_white is not None:  # what the camera says, where it is lower
        known = np.asarray(camera_white, float)
        whites = np.where(known > 0, np.minimum(known, whites), whites)
    return np.asarray(both.raw_image_visible >= whites[both.raw_colors_visible])


def _above_black(image: Any, black_levels: Sequence[int]) -> np.ndarray:
    black = np.asarray(black_levels, np.float32)
    return np.asarray(image.raw_image_visible.astype(np.float32) - black[image.raw_colors_visible])


def _bayer_to_rgb(plane: np.ndarray, image: Any) -> np.ndarray:
    """Mean of each colour over every 2 x 2 cell: (3, H/2, W/2)."""
    letters = image.color_desc.decode("ascii")
    height, width = (size // 2 for size in plane.shape)
    sites: dict[str, list[np.ndarray]] = {"R": [], "G": [], "B": []}
    for row, col in np.ndindex(2, 2):
        site = plane[row : 2 * height : 2, col : 2 * width : 2]
        sites[letters[image.raw_colors_visible[row, col]]].append(site)
    return np.stack([np.mean(planes, axis=0) for planes in sites.values()]).astype(np.float32)


DPDD_PNG = CaptureFormat(
    id="canon-dpdd-png",
    example="1P0A0917_L.png",
    patterns=("*_L.png", "*_R.png", "source/*_L.png", "*_l/source/*_L.png"),
    locate=_locate_dpdd,
    claims=_claims_dpdd,
    load=_load_dpdd,
    read_header=_read_dpdd_header,
)
NUMBERED_JPEG = CaptureFormat(
    id="canon-numbered-jpeg",
    example="001_L.jpg",
    patterns=("*_L.jpg", "*_R.jpg", "*_L.jpeg", "*_R.jpeg"),
    locate=_locate_jpeg,
    claims=_claims_jpeg,
    load=_load_jpeg,
    read_header=_read_jpeg_header,
)
CANON_CR2 = CaptureFormat(
    id="canon-dual-pixel-cr2",
    example="IMG_0001.CR2",
    patterns=("*.CR2", "*.cr2"),
    locate=_locate_cr2,
    claims=_claims_cr2,
    load=_load_cr2,
    read_header=_read_cr2_header,
)
CANON_CR3 = CaptureFormat(
    id="canon-dual-pixel-cr3",
    example="IMG_0001.CR3",
    patterns=("*.CR3", "*.cr3"),
    locate=_locate_cr3,
    claims=_claims_cr3,
    load=_load_cr3,
    read_header=_read_cr3_header,
)
