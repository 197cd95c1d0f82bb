"""Read ground truth in the layout of the published Pixel 4 scenes.

`gt_all_in_focus_im/NNN_gt.png` is 16-bit and linear: divided by 65535 it has the unit of the
views. `gt_defocus_map/NNN_gt.png` is 8-bit, larger means more blur, 0 means no confidence.

A defocus map says what its values mean by its ``sign``:

- one-sided, as the published ones: everything is behind the focus plane, 0 is unknown;
- signed: defocus scales, negative in front of the focus plane. Floats (TIFF or .npy) are taken as
  they are, NaN is unknown; 16-bit integers hold 32768 + 8192 d, 0 is unknown;
- unsigned: the amount of blur without its side, 0 is unknown; compared by absolute value.

Unless told, floats with negative values are signed and everything else is one-sided.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.capture.picture import decode_picture
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.files import open_regular
from napari_dpdeblur.files.npy import read_npy

SHARP_FOLDER = "gt_all_in_focus_im"
DEFOCUS_FOLDER = "gt_defocus_map"
TRUTH_SUFFIX = "_gt.png"
MAP_SUFFIXES = (TRUTH_SUFFIX, "_gt.tif", "_gt.npy")
FULL_SCALE = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}
# Signed 16-bit maps: the value of the focus plane, and steps for a defocus scale of 1 (up to 4).
FOCUS_VALUE, STEPS_PER_SCALE = 32768, 8192

Sign = Literal["one-sided", "signed", "unsigned"]
ONE_SIDED: Sign = "one-sided"
SIGNED: Sign = "signed"
UNSIGNED: Sign = "unsigned"


@dataclass(frozen=True)
class DefocusTruth:
    """True defocus (H, W), up to an affine map unless signed, and confidence (H, W), 0 or 1."""

    defocus: FloatArray
    confidence: FloatArray
    sign: Sign = ONE_SIDED


def sharp_path(folder: Path, scene: str) -> Path:
    """Path of the sharp image of a scene in the published layout."""
    return Path(folder) / SHARP_FOLDER / f"{scene}{TRUTH_SUFFIX}"


def defocus_path(folder: Path, scene: str) -> Path:
    """Path of the defocus map of a scene in the published layout."""
    return Path(folder) / DEFOCUS_FOLDER / f"{scene}{TRUTH_SUFFIX}"


def find_defocus(folder: Path, scene: str) -> Path:
    """Path of the defocus map of a scene, in whichever format there is; PNG if there is none."""
    default = defocus_path(folder, scene)
    paths = [default.with_name(f"{scene}{suffix}") for suffix in MAP_SUFFIXES]
    return next((path for path in paths if path.is_file()), default)


def load_sharp(path: Path) -> FloatArray:
    """Read a sharp image as float32 (C, H, W), linear; integer full scale becomes 1."""
    return load_picture(path, "ground-truth image")


def load_defocus(path: Path, sign: Sign | None = None) -> DefocusTruth:
    """Read a defocus map; ``sign`` says what its values mean, None: see above."""
    path, name = Path(path), "ground-truth defocus map"
    pixels = _one_channel(_read_values(path, name), path, name)
    is_float = pixels.dtype.kind == "f"
    if sign is None:
        sign = SIGNED if is_float and bool((pixels < 0).any()) else ONE_SIDED
    if sign == SIGNED and not is_float:
        return _signed_integers(pixels, path)
    values = _in_full_scale(pixels)
    values = np.abs(values) if sign == UNSIGNED else values
    known = np.isfinite(values) if sign == SIGNED else values > 0
    return DefocusTruth(np.where(known, values, np.float32(0)), known.astype(np.float32), sign)


def load_picture(path: Path, name: str) -> FloatArray:
    """Read an image like :func:`load_sharp`; ``name`` is used in messages."""
    return _channels_first(_in_full_scale(_read_values(Path(path), name)))


def load_predicted_map(path: Path) -> FloatArray:
    """Read a defocus map (H, W) of another program; all values are used."""
    path, name = Path(path), "predicted defocus map"
    return _in_full_scale(_one_channel(_read_values(path, name), path, name))


def _channels_first(pixels: FloatArray) -> FloatArray:
    if pixels.ndim == 2:
        pixels = pixels[..., np.newaxis]
    # OpenCV uses BGR; a fourth channel would be alpha.
    ordered = pixels[..., 2::-1] if pixels.shape[2] >= 3 else pixels[..., :1]
    return np.ascontiguousarray(ordered.transpose(2, 0, 1))


def _signed_integers(pixels: np.ndarray, path: Path) -> DefocusTruth:
    if pixels.dtype != np.uint16:
        raise EvaluationError(
            f"The ground-truth defocus map {path} has 8 bits, too few for a signed map; save it "
            f"with 16 bits ({FOCUS_VALUE} = in focus, {STEPS_PER_SCALE} steps per defocus scale, "
            "0 = unknown) or as floats."
        )
    known = pixels > 0
    defocus = (pixels.astype(np.float32) - FOCUS_VALUE) / np.float32(STEPS_PER_SCALE)
    return DefocusTruth(np.where(known, defocus, np.float32(0)), known.astype(np.float32), SIGNED)


def _one_channel(pixels: np.ndarray, path: Path, name: str) -> np.ndarray:
    if pixels.ndim == 2:
        return pixels
    if not np.array_equal(pixels[..., :3], pixels[..., :1].repeat(3, axis=2), equal_nan=True):
        raise EvaluationError(
            f"The {name} {path} is a colour image; use a greyscale image whose values increase "
            "with blur."
        )
    return pixels[..., 0]


def _in_full_scale(pixels: np.ndarray) -> FloatArray:
    """Pixels as float32; integers are divided by full scale."""
    return pixels.astype(np.float32) / np.float32(FULL_SCALE[str(pixels.dtype)])


def _read_values(path: Path, name: str) -> np.ndarray:
    """Pixels (H, W) or (H, W, channels) as stored: uint8, uint16 or float32."""
    if not path.is_file():
        raise EvaluationError(f"The {name} {path} does not exist; check the path.")
    if path.suffix.lower() == ".npy":
        return _read_array(path, name)
    pixels = decode_picture(path)
    if pixels is None or str(pixels.dtype) not in FULL_SCALE:
        raise EvaluationError(
            f"The {name} {path} cannot be read; "
            "expected an 8-bit or 16-bit PNG or TIFF, or a float32 TIFF."
        )
    return pixels


def _read_array(path: Path, name: str) -> np.ndarray:
    """A .npy file of one channel (H, W) as float32."""
    where = f"The {name} {path}"
    try:
        with open_regular(path) as (file, size_bytes):
            values = read_npy(file, size_bytes, where, EvaluationError)
    except OSError as error:
        raise EvaluationError(f"{where} cannot be read: {error.strerror or error}.") from error
    if values.ndim != 2 or not values.size:
        raise EvaluationError(f"{where} has shape {values.shape}; expected (height, width).")
    return values.astype(np.float32)
