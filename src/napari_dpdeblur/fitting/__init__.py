"""The fit: from a capture and a calibration to a multiplane image.

Names are imported on first use, so that settings can be read without loading torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.control import FitCancelled, FitControl
    from napari_dpdeblur.fitting.events import FitEvent, FitResult
    from napari_dpdeblur.fitting.run import fit, run_fit
    from napari_dpdeblur.fitting.settings import FitSettings

_HOMES = {
    "Checkpoint": "checkpoint",
    "FitCancelled": "control",
    "FitControl": "control",
    "FitEvent": "events",
    "FitResult": "events",
    "FitSettings": "settings",
    "fit": "run",
    "run_fit": "run",
}

__all__ = [
    "Checkpoint",
    "FitCancelled",
    "FitControl",
    "FitEvent",
    "FitResult",
    "FitSettings",
    "fit",
    "run_fit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
