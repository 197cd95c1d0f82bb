"""Read captures of Google Pixel phones: PGM pairs of the capture app and two published datasets.

All contain linear values of the green channel.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture
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
from napari_dpdeblur.capture.header import (
    LINEAR,
    SRGB,
    TRANSPOSED,
    CaptureHeader,
    ViewHeader,
)
from napari_dpdeblur.capture.image_file import (
    read_image_header,
    read_pixels,
    read_pixels_header,
)
from napari_dpdeblur.capture.pgm import (
    APP_PIXEL_ASPECT,
    PgmHeader,
    peek_pgm_header,
    read_pgm,
    read_pgm_header,
)
from napari_dpdeblur.errors import CaptureError

APP_BLACK, APP_WHITE = 4096.0, 65535.0
PUBLISHED_BLACK, PUBLISHED_WHITE = 1024.0, 16383.0
# The sensor has 10 bits: the app scales them to 16 bits, the published scenes multiply by 16.
SENSOR_WHITE = 1023
APP_TO_PUBLISHED = SENSOR_WHITE * 16 / APP_WHITE
# The published files exceed their white level by up to 0.5 %, where rows were interpolated.
WHITE_OVERSHOOT = 1.02
LEFT_RIGHT = ("left", "right")
GUESSED_LEVELS = "The levels follow from the largest value, which needs the pixels."

_APP_NAME = re.compile(r"\d{8}_\d{6}_\d{3}")
_GARG_FILE = re.compile(r"result_.*_center", re.IGNORECASE)
_GARG_FOLDERS = ("left_pd", "right_pd")
_GARG_WORDS = ("leftPd", "rightPd")


def published_values(capture: DualPixelCapture) -> np.ndarray:
    """Raw values (2, C, H, W) on the 14-bit scale of the published scenes, black at 1024: float32.

    v14 = v16 * 1023 * 16 / 65535 for a capture of the app, else scaled so that white is 16383.
    """
    raw = capture.raw.astype(np.float32)
    if capture.source.format == APP_PGM.id:
        return (raw + np.float32(APP_BLACK - capture.black)) * np.float32(APP_TO_PUBLISHED)
    gain = PUBLISHED_WHITE / capture.white
    return (raw - np.float32(capture.black)) * np.float32(gain) + np.float32(PUBLISHED_BLACK)


def app_values(sensor: np.ndarray) -> np.ndarray:
    """Values that the app stores for sensor counts above black: rounded, clipped, uint16."""
    black = APP_BLACK * SENSOR_WHITE / APP_WHITE
    steps = np.clip(np.round(sensor + black), 0, SENSOR_WHITE)
    return np.asarray(np.round(steps * (APP_WHITE / SENSOR_WHITE)), np.uint16)


def _locate_app(path: Path) -> CapturePart | None:
    return pair_in_folder(path, LEFT_RIGHT, (".pgm",))


def _claims_app(part: CapturePart) -> bool:
    """A 16-bit PGM with the app's own name, or at least with a partner."""
    header = peek_pgm_header(part.path)
    if header.bits != 16:
        raise CaptureError(
            f"{part.path} has {header.bits} bits per value, but the capture app writes 16; open "
            "the original file, or specify this file itself to open it as it is."
        )
    return bool(_APP_NAME.fullmatch(part.name)) or part.has_partner


def _load_app(part: CapturePart, levels: Levels) -> DualPixelCapture:
    header = _read_app_header(part, levels)
    raw = read_views(part, lambda path: read_pgm(path)[0][None])
    return with_pixels(header, raw, part, _app_levels(peek_pgm_header(part.path), levels))


def _read_app_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    headers = [peek_pgm_header(path) for path in part.files]
    if headers[0].max_value != headers[1].max_value:
        raise CaptureError(
            f"{part.files[0].name} and {part.files[1].name} have different bit depths (maximum "
            f"values {headers[0].max_value} and {headers[1].max_value}); both views must come from "
            "the same exposure."
        )
    return pair_header(
        part,
        APP_PGM.id,
        read_view_headers(part, _app_view),
        _app_levels(headers[0], levels),
        pixel_aspect=headers[0].pixel_aspect or APP_PIXEL_ASPECT,
    )


def _app_view(path: Path) -> ViewHeader:
    header = read_pgm_header(path)
    return ViewHeader((1, header.height, header.width), np.dtype(f"uint{header.bits}"))


def _app_levels(header: PgmHeader, levels: Levels) -> tuple[float, float]:
    limit = header.max_value
    return levels.resolve(APP_BLACK * limit / APP_WHITE, float(limit))


def _locate_published(path: Path) -> CapturePart | None:
    return pair_in_folder(path, LEFT_RIGHT, (".png",))


def _is_grey16(path: Path) -> bool:
    header = read_image_header(path)
    return header.kind == "PNG" and (header.bits, header.channels) == (16, 1)


def _claims_published(part: CapturePart) -> bool:
    """16-bit greyscale with a numeric name or with a partner of the same kind."""
    if not _is_grey16(part.path):
        return False
    return part.name.isdigit() or (part.has_partner and all(map(_is_grey16, part.files)))


def _load_published(part: CapturePart, levels: Levels) -> DualPixelCapture:
    raw = read_views(part, _read_grey16)
    black, white = levels.resolve(PUBLISHED_BLACK, PUBLISHED_WHITE)
    if levels.white is None and raw.max() > PUBLISHED_WHITE * WHITE_OVERSHOOT:
        raise CaptureError(
            f"{part.files[0]} is not a 14-bit dual-pixel view: its values reach {raw.max()}, above "
            f"the white level of {PUBLISHED_WHITE:.0f}; set the black and white level if it is a "
            "linear view on another scale, or the format picture-pair if software developed it."
        )
    return with_pixels(_read_published_header(part, levels), raw, part, (black, white))


def _read_published_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    view = read_view_headers(part, _grey16_header)
    found = levels.resolve(PUBLISHED_BLACK, PUBLISHED_WHITE)
    return pair_header(part, PUBLISHED_PNG.id, view, found, row_upsampling=2)


def _read_grey16(path: Path) -> np.ndarray:
    _grey16_header(path)
    return read_pixels(path)


def _grey16_header(path: Path) -> ViewHeader:
    header = read_image_header(path)
    if header.channels != 1 or header.bits != 16:
        raise CaptureError(
            f"{path} is not a 16-bit greyscale PNG with linear 14-bit values ({header}); open the "
            "original file."
        )
    return read_pixels_header(path)


def _locate_garg(path: Path) -> CapturePart | None:
    if path.suffix.lower() != ".png" or not _GARG_FILE.fullmatch(path.stem):
        return None
    scene = path.parent
    for side, folder in enumerate(_GARG_FOLDERS):
        if scene.parent.name == folder:
            other = scene.parent.with_name(_GARG_FOLDERS[1 - side]) / scene.name
            file = path.name.replace(_GARG_WORDS[side], _GARG_WORDS[1 - side])
            return CapturePart(path, scene.name, side, other / file)
    return None


def _claims_garg(part: CapturePart) -> bool:
    header = read_image_header(part.path)
    return header.channels == 1 and not header.is_palette


def _load_garg(part: CapturePart, levels: Levels) -> DualPixelCapture:
    """Portrait views with disparity along y, transposed so that it runs along x."""
    raw = read_views(part, _read_grey).transpose(0, 1, 3, 2)
    found = levels.resolve(*_garg_levels(raw))
    header = replace(_read_garg_header(part, levels), notes=())
    return with_pixels(header, np.ascontiguousarray(raw), part, found)


def _read_garg_header(part: CapturePart, levels: Levels) -> CaptureHeader:
    stored = read_view_headers(part, _grey_header)
    channels, width, height = stored.shape
    is_guessed = stored.dtype != np.uint8 and None in (levels.black, levels.white)
    found = (levels.black, levels.white) if is_guessed else levels.resolve(0.0, 255.0)
    # Noise of 8-bit pairs is equal at all levels, and they follow photos of the same exposure: they
    # were encoded like these.
    encoding = levels.encoding or (SRGB if stored.dtype == np.uint8 else LINEAR)
    return pair_header(
        part,
        GARG_PNG.id,
        ViewHeader((channels, height, width), stored.dtype),
        found,
        row_upsampling=2,
        orientation=TRANSPOSED,
        encoding=encoding,
        notes=(GUESSED_LEVELS,) * is_guessed,
    )


def _read_grey(path: Path) -> np.ndarray:
    _grey_header(path)
    return read_pixels(path)


def _grey_header(path: Path) -> ViewHeader:
    header = read_pixels_header(path)
    if header.shape[0] != 1:
        raise CaptureError(f"{path} is an RGB image; expected a single channel.")
    return header


def _garg_levels(raw: np.ndarray) -> tuple[float, float]:
    """Guess 14-bit or 16-bit scale from the largest value, as the dataset stores no levels."""
    if raw.dtype == np.uint8:
        return 0.0, 255.0
    if raw.max() <= PUBLISHED_WHITE * WHITE_OVERSHOOT:
        return PUBLISHED_BLACK, PUBLISHED_WHITE
    return APP_BLACK, APP_WHITE


APP_PGM = CaptureFormat(
    id="pixel-app-pgm",
    example="20210705_161427_778_left.pgm",
    patterns=("*.pgm", "*.PGM"),
    locate=_locate_app,
    claims=_claims_app,
    load=_load_app,
    read_header=_read_app_header,
)
PUBLISHED_PNG = CaptureFormat(
    id="pixel-published-png",
    example="001_left.png",
    patterns=("*.png", "*.PNG"),
    locate=_locate_published,
    claims=_claims_published,
    load=_load_published,
    read_header=_read_published_header,
)
GARG_PNG = CaptureFormat(
    id="pixel-portrait-png",
    example="left_pd/<capture>/result_leftPd_center.png",
    patterns=("left_pd/*/result_*.png", "*/result_*.png", "result_*.png"),
    locate=_locate_garg,
    claims=_claims_garg,
    load=_load_garg,
    read_header=_read_garg_header,
)
