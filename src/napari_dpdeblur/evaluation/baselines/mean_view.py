"""The mean of both views: what every method has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.evaluation.baselines.prediction import Prediction

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture


def mean_view(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
    """The mean of both views as the image, and a constant defocus map."""
    image = calibration.prepare(capture).mean(axis=0)
    return Prediction(image, np.ones(image.shape[-2:], np.float32))
