"""Calibrations: blur kernels and vignetting of one camera, and how to measure them."""

from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.calibration.storage import load_calibration, save_calibration

__all__ = ["Calibration", "Field", "load_calibration", "save_calibration"]
