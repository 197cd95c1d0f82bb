"""The Python interface for notebooks and scripts; all of it is in `napari_dpdeblur` itself.

import napari_dpdeblur as dpdeblur

capture = dpdeblur.open("20210705_161427_778_left.pgm")
calibration = dpdeblur.load_calibration("phone.dpcal")
result = dpdeblur.fit(capture, calibration)
result.show()
result.save("run")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture import open_capture as open
from napari_dpdeblur.datasets.pixel4 import fetch_pixel4
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.fitting.entry import fit
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import Result, read_run

if TYPE_CHECKING:
    pass

# As the command line does, before torch is loaded: threads that spin while they wait slow each
# other down. Nothing happens where it is set already.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = [
    "Calibration",
    "DualPixelCapture",
    "FitSettings",
    "Result",
    "Simulation",
    "fetch_pixel4",
    "fit",
    "load_calibration",
    "load_result",
    "open",
    "simulate",
]


def load_result(folder: str | Path) -> Result:
    """Read a run folder that `Result.save`, the command line or napari wrote."""
    return read_run(Path(folder))
