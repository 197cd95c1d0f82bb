"""Read a colour photo: JPEG, PNG or TIFF as a camera's software writes them, or DNG."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.capture.camera_optics import read_orientation
from napari_dpdeblur.capture.image_file import MAX_PIXELS
from napari_dpdeblur.capture.levels import srgb_to_linear
from napari_dpdeblur.capture.photo.record import Photo
from napari_dpdeblur.capture.picture import PICTURE_SUFFIXES, is_picture, read_planes
from napari_dpdeblur.errors import CaptureError, shortened
from napari_dpdeblur.files import digest, open_regular
from napari_dpdeblur.files.reading import accessing

RAW_SUFFIX = ".dng"
PHOTO_SUFFIXES = (*PICTURE_SUFFIXES, RAW_SUFFIX)
MAX_SIDE_PX = 2400  # larger photos are reduced: colours need no more detail
CLIPPED_LEVEL = 0.985  # share of white from which a value may be clipped
_TURNS = {3: 2, 4: 2, 5: 3, 6: 3, 7: 1, 8: 1}  # quarter turns to the left for each EXIF orientation
_FLIPPED = (2, 4, 5, 7)  # EXIF orientations that are mirrored left to right after the turn


def open_photo(path: str | Path) -> Photo:
    """Read a colour photo: JPEG, PNG or TIFF (sRGB; float TIFF: linear), or DNG through rawpy.

    It is turned upright as its EXIF orientation says, linearised, and reduced if it is large.
    """
    path = Path(path)
    with accessing(path, CaptureError):
        if not path.is_file():
            wrong = "is not a file" if path.exists() else "does not exist"
            raise CaptureError(f"The photo {shortened(path)} {wrong}; check the path.")
    is_raw = path.suffix.lower() == RAW_SUFFIX
    linear, clipped = _read_raw(path) if is_raw else _read_picture(path)
    if bool((linear[0] == linear[1]).all() and (linear[1] == linear[2]).all()):
        raise CaptureError(f"The photo {path} has no colour; choose a colour photo.")
    height, width = clipped.shape
    factor = -(-max(height, width) // MAX_SIDE_PX)
    try:
        sha256 = digest(path)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error
    return Photo(
        _reduced(linear, factor),
        _reduced(clipped[None].astype(np.float32), factor)[0] > 0,
        path.name,
        str(path),
        sha256,
        (width, height),
    )


def find_photo(folder: Path, name: str) -> Path | None:
    """The photo of the capture ``name`` in a folder: NAME.jpg or NAME_photo.jpg, any photo suffix.

    Upper and lower case make no difference; None if there is no such file.
    """
    stems = [f"{name}_photo".lower(), name.lower()]
    try:
        files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    except OSError:
        return None
    photos = [path for path in files if path.suffix.lower() in PHOTO_SUFFIXES]
    found = [path for stem in stems for path in photos if path.stem.lower() == stem]
    return found[0] if found else None


def _read_picture(path: Path) -> tuple[FloatArray, np.ndarray]:
    """Linear pixels (3, H, W) and where they are clipped (H, W)."""
    if not is_picture(path):
        raise CaptureError(
            f"The photo {path} is not a JPEG, PNG, TIFF or DNG file; choose a colour photo."
        )
    stored = read_planes(path)
    if stored.shape[0] != 3:
        raise CaptureError(f"The photo {path} has no colour; choose a colour photo.")
    upright = _upright(stored, read_orientation(path))
    if stored.dtype == np.float32:
        linear = np.clip(np.nan_to_num(upright), 0, 1)
        return linear, _any_channel(linear >= CLIPPED_LEVEL)
    most = np.iinfo(stored.dtype).max
    table = srgb_to_linear(np.arange(most + 1, dtype=np.float32) / most)
    return table[upright], _any_channel(upright >= CLIPPED_LEVEL * most)


def _any_channel(is_clipped: np.ndarray) -> np.ndarray:
    return np.asarray(is_clipped.any(0))


def _upright(planes: np.ndarray, orientation: int) -> np.ndarray:
    """Planes (C, H, W) turned as an EXIF orientation (1 to 8) says."""
    turned = np.rot90(planes, _TURNS.get(orientation, 0), axes=(1, 2))
    return np.ascontiguousarray(turned[..., ::-1] if orientation in _FLIPPED else turned)


def _read_raw(path: Path) -> tuple[FloatArray, np.ndarray]:
    """A DNG, developed at half its resolution with the white balance of the camera."""
    rawpy = _import_rawpy()
    try:
        with open_regular(path):  # the decoder would block on a pipe
            pass
        with rawpy.imread(str(path)) as image:
            sizes = image.sizes
            if sizes.raw_height * sizes.raw_width > MAX_PIXELS:
                raise CaptureError(
                    f"The photo {path} declares {sizes.raw_width} x {sizes.raw_height} px, more "
                    f"than the limit of {MAX_PIXELS // 10**6} megapixels; the file is damaged."
                )
            developed = image.postprocess(
                half_size=True,
                use_camera_wb=True,
                no_auto_bright=True,
                gamma=(1, 1),
                output_bps=16,
            )
    except CaptureError:
        raise
    except Exception as error:  # a damaged file makes the decoder fail in many ways
        raise CaptureError(f"The photo {path} cannot be read as a DNG file ({error}).") from error
    linear = np.moveaxis(developed, -1, 0).astype(np.float32) / np.float32(65535)
    return np.ascontiguousarray(linear), _any_channel(linear >= CLIPPED_LEVEL)


def _import_rawpy() -> Any:
    try:
        return importlib.import_module("rawpy")
    except ImportError as error:
        raise CaptureError(
            "DNG photos require rawpy; install it with pip install 'napari-dpdeblur[canon]', or "
            "choose a JPEG."
        ) from error


def _reduced(planes: FloatArray, factor: int) -> FloatArray:
    """Means over blocks of ``factor`` pixels of planes (C, H, W)."""
    if factor <= 1:
        return planes
    height, width = (max(side // factor, 1) for side in planes.shape[1:])
    inner = planes[:, : height * factor, : width * factor]
    size = (width, height)
    whole = (np.ascontiguousarray(plane) for plane in inner)
    reduced = [cv2.resize(plane, size, interpolation=cv2.INTER_AREA) for plane in whole]
    return np.stack(reduced).astype(np.float32)
