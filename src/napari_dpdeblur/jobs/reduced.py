"""Reduce the resolution of a capture and its calibration, for a quick preview."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration, Field
from napari_dpdeblur.capture import DualPixelCapture


def reduced(
    capture: DualPixelCapture, calibration: Calibration, factor: int
) -> tuple[DualPixelCapture, Calibration]:
    """Capture and calibration with pixels ``factor`` times larger.

    The views are corrected and cropped to the field first; defocus scales are unchanged.
    """
    views = calibration.prepare(capture)
    height, width = (side // factor for side in views.shape[-2:])
    grid = calibration.kernel_grid().scaled(1.0, (float(factor), float(factor)))
    kernels = _square(grid.kernels.numpy())
    small = [[_mean_of_blocks(plane, height, width) for plane in view] for view in views]
    field = Field(0, 0, height, width)
    lens = replace(
        calibration,
        kernels=kernels,
        field=field,
        frame_shape=(height, width),
        vignetting=None,
        diagnostics={},
        excess_variance_px2=_smaller(calibration.excess_variance_px2, factor),
    )
    picture = replace(
        capture,
        raw=np.asarray(small, np.float32),
        black=0.0,
        white=1.0,
        pixel_aspect=1.0,
        row_upsampling=1,
        encoding="linear",
        invalid=None,
    )
    return picture, lens


def _smaller(variance_px2: tuple[float, float], factor: int) -> tuple[float, float]:
    along_y, along_x = variance_px2
    return along_y / factor**2, along_x / factor**2


def _mean_of_blocks(plane: np.ndarray, height: int, width: int) -> np.ndarray:
    factor_rows, factor_cols = plane.shape[0] // height, plane.shape[1] // width
    whole = np.ascontiguousarray(plane[: height * factor_rows, : width * factor_cols])
    return np.asarray(cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA))


def _square(kernels: np.ndarray) -> np.ndarray:
    """Kernels (P, V, Ky, Kx) padded to equal odd sides."""
    rows, cols = kernels.shape[-2:]
    side = max(rows, cols)
    pad = [(0, 0), (0, 0)] + [((side - n) // 2, (side - n) // 2) for n in (rows, cols)]
    return np.pad(kernels, pad)
