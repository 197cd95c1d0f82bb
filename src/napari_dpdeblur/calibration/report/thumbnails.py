"""Small diagnostic arrays of a calibration run: thumbnail, discs, residuals."""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.calibration.solve.kernels import KernelSolution
from napari_dpdeblur.calibration.solve.radiometry import Screen
from napari_dpdeblur.calibration.target.detect import Detection

THUMBNAIL_PX = 640
RESIDUAL_MAP_PX = 168
BRIGHTEST = 1.2


def detection_thumbnail(screen: Screen, detection: Detection) -> dict[str, np.ndarray]:
    """``thumbnail`` (h, w) and ``discs`` (N, 4), x, y and deviation in its pixels; float32."""
    thumbnail = _thumbnail(screen)
    scale = thumbnail.shape[1] / screen.lit.shape[1]
    centres = (detection.centres + 0.5) * scale - 0.5
    discs = np.column_stack([centres, detection.residuals * scale])
    return {"thumbnail": thumbnail, "discs": discs.astype(np.float32)}


def diagnostics(
    screen: Screen, detection: Detection, solution: KernelSolution
) -> dict[str, np.ndarray]:
    """Arrays that `calibrate show` draws; discs (N, 4) are in pixels of the frame."""
    ratio = solution.residual.shape[1] / solution.residual.shape[2]
    size = (RESIDUAL_MAP_PX, round(RESIDUAL_MAP_PX * ratio))
    energy = [
        np.sqrt(cv2.resize(view**2, size, interpolation=cv2.INTER_AREA))
        for view in solution.residual
    ]
    return {
        "thumbnail": _thumbnail(screen),
        "residual": np.stack(energy),
        "discs": np.column_stack([detection.centres, detection.residuals]).astype(np.float32),
    }


def _thumbnail(screen: Screen) -> np.ndarray:
    mean = np.clip(screen.views.mean(axis=0), 0.0, BRIGHTEST)
    size = (THUMBNAIL_PX, round(mean.shape[0] * THUMBNAIL_PX / mean.shape[1]))
    return np.asarray(cv2.resize(mean, size, interpolation=cv2.INTER_AREA))
