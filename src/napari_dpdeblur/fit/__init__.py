"""The fit: from a capture and a calibration to a multiplane image.

Names are imported on first use, so that settings can be read without loading torch.

``napari_dpdeblur.fit(capture, calibration)`` works as well: see :func:`napari_dpdeblur.api.fit`.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_dpdeblur.fit.checkpoint import Checkpoint
    from napari_dpdeblur.fit.control import FitCancelled, FitControl
    from napari_dpdeblur.fit.events import FitEvent, FitResult
    from napari_dpdeblur.fit.settings import FitSettings
    from napari_dpdeblur.fit.solver import fit, run_fit

_HOMES = {
    "Checkpoint": "checkpoint",
    "FitCancelled": "control",
    "FitControl": "control",
    "FitEvent": "events",
    "FitResult": "events",
    "FitSettings": "settings",
    "fit": "solver",
    "run_fit": "solver",
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


class _CallablePackage(ModuleType):
    """A package and a function have to share the name that reads best: ``dpdeblur.fit(...)``.

    Importing any module of this package puts it in the function's place, so it has to be both.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return _api_fit()(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(_api_fit())


def _api_fit() -> Any:
    # By its name, because it is built upon this package and not the other way round.
    return import_module("napari_dpdeblur.api").fit


sys.modules[__name__].__class__ = _CallablePackage
