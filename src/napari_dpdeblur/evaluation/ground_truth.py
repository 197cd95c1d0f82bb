"""Read ground truth in the layout of the published Pixel 4 scenes.

`gt_all_in_focus_im/NNN_gt.png` is 16-bit and linear: divided by 65535 it has the unit of the
views. `gt_defocus_map/NNN_gt.png` is 8-bit, larger means more blur, 0 means no confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.capture.picture import decode_picture
from napari_dpdeblur.errors import EvaluationError

SHARP_FOLDER = "gt_all_in_focus_im"
DEFOCUS_FOLDER = "gt_defocus_map"
TRUTH_SUFFIX = "_gt.png"
FULL_SCALE = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}


@dataclass(frozen=True)
class DefocusTruth:
    """True defocus (H, W) in 0..1, up to an affine map, and confidence (H, W), 0 or 1."""

    defocus: FloatArray
    confidence: FloatArray


def sharp_path(folder: Path, scene: str) -> Path:
    """Path of the sharp image of a scene in the published layout."""
    return Path(folder) / SHARP_FOLDER / f"{scene}{TRUTH_SUFFIX}"


def defocus_path(folder: Path, scene: str) -> Path:
    """Path of the defocus map of a scene in the published layout."""
    return Path(folder) / DEFOCUS_FOLDER / f"{scene}{TRUTH_SUFFIX}"


def load_sharp(path: Path) -> FloatArray:
    """Read a sharp image as float32 (C, H, W), linear; integer full scale becomes 1."""
    return load_picture(path, "ground-truth image")


def load_defocus(path: Path) -> DefocusTruth:
    """Read a defocus map; pixels that are not positive have no confidence."""
    pixels = _read_map(Path(path), "ground-truth defocus map")
    return DefocusTruth(pixels, (pixels > 0).astype(np.float32))


def load_picture(path: Path, name: str) -> FloatArray:
    """Read an image like :func:`load_sharp`; ``name`` is used in messages."""
    return _channels_first(_read_picture(Path(path), name))


def load_predicted_map(path: Path) -> FloatArray:
    """Read a defocus map (H, W) of another program; all values are used."""
    return _read_map(Path(path), "predicted defocus map")


def _channels_first(pixels: FloatArray) -> FloatArray:
    if pixels.ndim == 2:
        pixels = pixels[..., np.newaxis]
    # OpenCV uses BGR; a fourth channel would be alpha.
    ordered = pixels[..., 2::-1] if pixels.shape[2] >= 3 else pixels[..., :1]
    return np.ascontiguousarray(ordered.transpose(2, 0, 1))


def _read_map(path: Path, name: str) -> FloatArray:
    pixels = _read_picture(path, name)
    if pixels.ndim == 2:
        return pixels
    if not np.array_equal(pixels[..., :3], pixels[..., :1].repeat(3, axis=2), equal_nan=True):
        raise EvaluationError(
            f"The {name} {path} is a colour image; use a greyscale image whose values increase "
            "with blur."
        )
    return pixels[..., 0]


def _read_picture(path: Path, name: str) -> FloatArray:
    """Pixels (H, W) or (H, W, channels); integers are divided by full scale."""
    if not path.is_file():
        raise EvaluationError(f"The {name} {path} does not exist; check the path.")
    pixels = decode_picture(path)
    full_scale = None if pixels is None else FULL_SCALE.get(str(pixels.dtype))
    if pixels is None or full_scale is None:
        raise EvaluationError(
            f"The {name} {path} cannot be read; "
            "expected an 8-bit or 16-bit PNG or TIFF, or a float32 TIFF."
        )
    return pixels.astype(np.float32) / np.float32(full_scale)
