"""Validation of kernel arrays, in NumPy: calibrations are read without torch."""

from __future__ import annotations

import numpy as np

from napari_dpdeblur.errors import CalibrationError


def check_kernels(array: np.ndarray, rows: int, cols: int) -> None:
    """Raise CalibrationError unless ``array`` is a usable (P, 2, K, K) grid of blur kernels."""
    if array.dtype == object or not np.issubdtype(array.dtype, np.floating):
        raise CalibrationError(
            f"Blur kernels must be floating-point numbers, but the array holds {array.dtype}; "
            "save them as float32."
        )
    if array.ndim != 4 or array.shape[1] != 2 or array.shape[2] != array.shape[3]:
        raise CalibrationError(
            f"Blur kernels must have the shape (tiles, 2 views, K, K), but this grid has "
            f"{tuple(array.shape)}."
        )
    if array.shape[0] != rows * cols:
        raise CalibrationError(
            f"A grid of {rows} x {cols} tiles needs {rows * cols} kernels per view, but "
            f"{array.shape[0]} were given."
        )
    if array.shape[2] % 2 == 0:
        raise CalibrationError(
            f"Blur kernels need an odd size so that they have a centre pixel, but these are "
            f"{array.shape[2]} px wide; pad or crop them by one pixel."
        )
    if not np.isfinite(array).all():
        raise CalibrationError("Blur kernels contain NaN or infinity; calibrate again.")
    if (array < 0).any():
        raise CalibrationError("Blur kernels contain negative values; light cannot be negative.")
    if (array.sum(axis=(2, 3)) <= 0).any():
        raise CalibrationError("A blur kernel is empty (its sum is zero); calibrate again.")
