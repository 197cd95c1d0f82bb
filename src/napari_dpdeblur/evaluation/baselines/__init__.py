"""Methods to compare with, each a function of a capture and a calibration.

They are imported on first use, because most of them load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from napari_dpdeblur.evaluation.baselines.prediction import Prediction

if TYPE_CHECKING:
    from napari_dpdeblur.evaluation.baselines.prediction import Method

__all__ = ["BASELINES", "Prediction", "baseline"]

# name on the command line: module and function, label in tables
_HOMES = {
    "input": ("mean_view", "mean_view", "Input (mean of the views)"),
    "wiener": ("wiener", "wiener", "Wiener, two views"),
    "wadhwa": ("wadhwa", "wadhwa", "Wadhwa et al."),
    "punnappurath": ("punnappurath", "punnappurath", "Punnappurath et al."),
}
#: Names on the command line, and their labels in tables.
BASELINES = {name: label for name, (_, _, label) in _HOMES.items()}


def baseline(name: str) -> Method:
    """The function of a baseline; its names are the keys of ``BASELINES``."""
    module, function, _ = _HOMES[name]
    return cast("Method", getattr(import_module(f"{__name__}.{module}"), function))
