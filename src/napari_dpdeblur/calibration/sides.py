"""The two sides of the focus plane: disparity of kernels, and kernels in front of it.

Behind the focus plane the left kernel lies left of the right one, so the disparity is negative; in
front of it the disparity is positive. NumPy only: calibrations are read without torch.
"""

from __future__ import annotations

import math

import numpy as np

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.kernel_check import check_kernels
from napari_dpdeblur.optics.moments import first_moment

FRONT = "front_"  # begins the names of what belongs to the front
BEHIND, IN_FRONT = "behind", "in front of"  # the focus plane
TARGET_SIDE = "target_side"  # entry of ``Calibration.source`` if the only target was in front
MEASURED, DERIVED = "measured", "derived from the back"


def centroids_px(kernels: np.ndarray) -> np.ndarray:
    """Centroids (..., 2) as (x, y) of kernels (..., K, K), from their middle."""
    moments = np.stack([first_moment(kernels, axis) for axis in (-1, -2)], axis=-1)
    return np.asarray(moments / kernels.sum((-2, -1))[..., None])


def disparity_px(kernels: np.ndarray) -> np.ndarray:
    """Left minus right centroid along x (P,) of kernels (P, 2, K, K)."""
    centroids = centroids_px(kernels)
    return np.asarray(centroids[:, 0, 0] - centroids[:, 1, 0])


def vertical_disparity_px(kernels: np.ndarray) -> np.ndarray:
    """Left minus right centroid along y (P,), which is close to 0 for the views of one capture."""
    centroids = centroids_px(kernels)
    return np.asarray(centroids[:, 0, 1] - centroids[:, 1, 1])


def disparity_ratio(kernels: np.ndarray, base: np.ndarray) -> float:
    """Defocus scale of kernels (P, 2, K, K) in multiples of ``base``; negative: the other side.

    Kernels are scaled copies of each other, so all tiles have the same ratio of disparities.
    """
    here, there = disparity_px(kernels), disparity_px(base)
    power = float((there**2).sum())
    if power == 0:
        raise CalibrationError(
            "The calibration has no disparity between left and right, so it has no defocus scale; "
            "calibrate with the screen out of focus."
        )
    return float((here * there).sum() / power)


def turned(kernels: np.ndarray) -> np.ndarray:
    """Kernels (..., K, K) turned by 180 degrees: those of the other side in geometric optics."""
    return np.asarray(kernels[..., ::-1, ::-1])


def check_front_grid(front: np.ndarray, back: np.ndarray, rows: int, cols: int) -> None:
    """Raise CalibrationError unless ``front`` is a grid like ``back`` from the other side."""
    if front.shape != back.shape:
        raise CalibrationError(
            f"The kernels in front of the focus plane have the shape {tuple(front.shape)}, but "
            f"those behind it have {tuple(back.shape)}; use the same tiles and the same kernel "
            "size for both."
        )
    check_kernels(front, rows, cols)
    in_front, behind = (float(disparity_px(grid).mean()) for grid in (front, back))
    if in_front * behind >= 0:
        raise CalibrationError(
            f"The kernels in front of the focus plane have a disparity of {in_front:.2f} px and "
            f"those behind it {behind:.2f} px, but the signs must differ; measure one grid on each "
            "side of the focus plane."
        )


def check_front_scale(scale: float) -> None:
    """Raise CalibrationError unless ``scale`` can be the defocus scale of a front grid."""
    if not (math.isfinite(scale) and scale < 0):
        raise CalibrationError(
            f"The defocus scale of the kernels in front of the focus plane is {scale:g}, but it "
            "must be a negative number."
        )
