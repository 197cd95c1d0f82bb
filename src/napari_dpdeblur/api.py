"""Python interface for notebooks and scripts, available from `napari_dpdeblur`.

import napari_dpdeblur as dpdeblur

capture = dpdeblur.open("20210705_161427_778_left.pgm")
calibration = dpdeblur.load_calibration("phone.dpcal")
result = dpdeblur.fit(capture, calibration)  # without a calibration the lens is estimated
result.show()
result.save("run")
"""

from __future__ import annotations

import os
from pathlib import Path

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.calibration.estimate.entry import estimate_lens
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture import open_capture as open
from napari_dpdeblur.capture.photo import Photo, open_photo
from napari_dpdeblur.datasets.pixel4 import fetch_pixel4
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.fitting.entry import fit
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import Result, read_run

# Must be set before torch is loaded: spinning threads slow each other down. An existing value is
# kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = [
    "Calibration",
    "DualPixelCapture",
    "EstimateSettings",
    "FitSettings",
    "Photo",
    "Result",
    "Simulation",
    "estimate_lens",
    "fetch_pixel4",
    "fit",
    "load_calibration",
    "load_result",
    "open",
    "open_photo",
    "simulate",
]


def load_result(folder: str | Path) -> Result:
    """Read a run folder written by `Result.save`, the command line or napari."""
    return read_run(Path(folder))
