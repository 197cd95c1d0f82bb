"""Read captures of Google Pixel phones: PGM pairs of the capture app and two published datasets.

All contain linear values of the green channel.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from napari_dpdeblur.capture.dual_pixel import TRANSPOSED, DualPixelCapture, Source
from napari_dpdeblur.capture.formats import (
    CaptureFormat,
    CapturePart,
    Levels,
    pair_in_folder,
    read_views,
)
from napari_dpdeblur.capture.image_file import read_image_header, read_pixels
from napari_dpdeblur.capture.pgm import APP_PIXEL_ASPECT, peek_pgm_header, read_pgm
from napari_dpdeblur.errors import CaptureError

APP_BLACK, APP_WHITE = 4096.0, 65535.0
PUBLISHED_BLACK, PUBLISHED_WHITE = 1024.0, 16383.0
# The sensor has 10 bits: the app scales them to 16 bits, the published scenes multiply by 16.
SENSOR_WHITE = 1023
APP_TO_PUBLISHED = SENSOR_WHITE * 16 / APP_WHITE
# The published files exceed their white level by up to 0.5 %, where rows were interpolated.
WHITE_OVERSHOOT = 1.02
LEFT_RIGHT = ("left", "right")

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
    return header.bits == 16 and (bool(_APP_NAME.fullmatch(part.name)) or part.has_partner)


def _load_app(part: CapturePart, levels: Levels) -> DualPixelCapture:
    headers = [peek_pgm_header(path) for path in part.files]
    if headers[0].max_value != headers[1].max_value:
        raise CaptureError(
            f"{part.files[0].name} and {part.files[1].name} have different bit depths (maximum "
            f"values {headers[0].max_value} and {headers[1].max_value}); both views must come from "
            "the same exposure."
        )
    raw = read_views(part, lambda path: read_pgm(path)[0][None])
    limit = headers[0].max_value
    black, white = levels.resolve(APP_BLACK * limit / APP_WHITE, float(limit))
    return DualPixelCapture(
        raw=raw,
        black=black,
        white=white,
        name=part.name,
        source=Source.of(APP_PGM.id, part.files),
        pixel_aspect=headers[0].pixel_aspect or APP_PIXEL_ASPECT,
    )


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
            "linear view on another scale."
        )
    source = Source.of(PUBLISHED_PNG.id, part.files)
    return DualPixelCapture(raw, black, white, part.name, source, row_upsampling=2)


def _read_grey16(path: Path) -> np.ndarray:
    header = read_image_header(path)
    if header.channels != 1 or header.bits != 16:
        raise CaptureError(
            f"{path} is not a 16-bit greyscale PNG with linear 14-bit values ({header}); open the "
            "original file."
        )
    return read_pixels(path)


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
    black, white = levels.resolve(*_garg_levels(raw))
    return DualPixelCapture(
        raw=np.ascontiguousarray(raw),
        black=black,
        white=white,
        name=part.name,
        source=Source.of(GARG_PNG.id, part.files),
        row_upsampling=2,
        orientation=TRANSPOSED,
    )


def _read_grey(path: Path) -> np.ndarray:
    pixels = read_pixels(path)
    if len(pixels) != 1:
        raise CaptureError(f"{path} is an RGB image; expected a single channel.")
    return pixels


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
)
PUBLISHED_PNG = CaptureFormat(
    id="pixel-published-png",
    example="001_left.png",
    patterns=("*.png", "*.PNG"),
    locate=_locate_published,
    claims=_claims_published,
    load=_load_published,
)
GARG_PNG = CaptureFormat(
    id="pixel-portrait-png",
    example="left_pd/<capture>/result_leftPd_center.png",
    patterns=("left_pd/*/result_*.png", "*/result_*.png", "result_*.png"),
    locate=_locate_garg,
    claims=_claims_garg,
    load=_load_garg,
)
