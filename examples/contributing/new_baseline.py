"""A worked example: unsharp masking, and the contrast between the views as a defocus map.

Two lines of image processing that nobody would publish, but a full row of the comparison. In
the package this would be a module of `evaluation/baselines/` with a line in `registry.py` there.
"""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.evaluation.baselines import Prediction
from napari_dpdeblur.evaluation.comparison.methods import NamedMethod

SIGMA_PX = 4.0
STRENGTH = 1.0
WINDOW_PX = 31


def unsharp(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
    """Add what a blur removes; call a pixel defocused where left and right differ."""
    views = calibration.prepare(capture)  # (2, C, H, W): cropped, square pixels, even brightness
    mean = views.mean(axis=0)
    smooth = np.stack([cv2.GaussianBlur(channel, None, SIGMA_PX) for channel in mean])
    sharper = np.maximum(mean + STRENGTH * (mean - smooth), 0)
    return Prediction(sharper, _difference(views))


def _difference(views: np.ndarray) -> np.ndarray:
    """Mean difference of the views in a window, relative to the contrast there: (H, W)."""
    left, right = views.mean(axis=1)
    window = (WINDOW_PX, WINDOW_PX)
    difference = cv2.blur(np.abs(left - right), window)
    slope = np.abs(cv2.Sobel((left + right) / 2, cv2.CV_32F, 1, 0, ksize=3))
    return difference / (cv2.blur(slope, window) + 1e-3)


UNSHARP = NamedMethod(
    name="unsharp",
    label="Unsharp mask",
    predict=unsharp,
    signature=lambda scene: "unsharp 1",  # change it when the method changes
)
