"""Measured depth as the truth of a defocus map.

The blur of a thin lens that is focused at F is proportional to 1 - F / Z at the depth Z: 0 in the
focus plane, negative in front of it, 1 for a very distant point. Where F is not known, -1 / Z is
the same up to scale and offset, to which the metrics are invariant; then the sign is not scored.

Files: PNG with 16 bits in millimetres or with 8 bits, where 255 stands for 10 m; floats (TIFF or
.npy) in metres. 0 and NaN are unknown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.datasets.canon_r6 import read_depth_m
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.ground_truth import (
    MAP_SUFFIXES,
    ONE_SIDED,
    SIGNED,
    DefocusTruth,
    load_predicted_map,
)
from napari_dpdeblur.evaluation.metrics import affine_fit

DEPTH_FOLDER = "gt_depth"
# Beside the views, where each capture has a folder of its own.
DEPTH_NAMES = ("depth_mm.png", "d.png", "depth_m.tif", "depth_m.npy")
FARTHEST_M = 10.0  # larger depths count as this one: their defocus hardly differs


def find_depth(folder: Path, scene: str, captured: Path | None) -> Path | None:
    """The measured depth of a scene, in `gt_depth` or beside its view ``captured``."""
    paths = [folder / DEPTH_FOLDER / f"{scene}{suffix}" for suffix in MAP_SUFFIXES]
    if captured is not None:
        paths += [captured.with_name(name) for name in DEPTH_NAMES]
    return next((path for path in paths if path.is_file()), None)


def load_depth_m(path: Path) -> FloatArray:
    """Depth (H, W) in metres; NaN is unknown."""
    if path.suffix.lower() == ".png":
        return read_depth_m(path)
    depth = load_predicted_map(path)
    return np.where(np.isfinite(depth) & (depth > 0), depth, np.float32(np.nan))


def defocus_of_depth(depth_m: FloatArray, focus_distance_m: float | None) -> DefocusTruth:
    """True defocus of a depth, signed if the focus distance is known."""
    if focus_distance_m is not None and focus_distance_m <= 0:
        raise EvaluationError(
            f"The focus distance must be above 0, not {focus_distance_m:g} m; check the options."
        )
    known = np.isfinite(depth_m)
    inverse = np.float32(1) / np.where(known, depth_m, np.float32(1))
    if focus_distance_m is None:
        defocus, sign = -inverse, ONE_SIDED
    else:
        defocus, sign = 1 - np.float32(focus_distance_m) * inverse, SIGNED
    return DefocusTruth(np.where(known, defocus, np.float32(0)), known.astype(np.float32), sign)


def depth_error_m(defocus_map: FloatArray, depth_m: FloatArray) -> float:
    """Median error of the depth that a map means, in metres.

    Inverse depth is linear in defocus; slope and offset are those of the least squares.
    """
    known = np.isfinite(depth_m)
    inverse = 1 / np.minimum(depth_m[known].astype(np.float64), FARTHEST_M)
    fitted = affine_fit(defocus_map[known].astype(np.float64), inverse, np.ones_like(inverse))
    return float(np.median(np.abs(1 / np.maximum(fitted, 1 / FARTHEST_M) - 1 / inverse)))
