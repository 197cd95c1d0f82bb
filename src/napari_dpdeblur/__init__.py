"""Joint defocus estimation and deblurring of dual-pixel captures, as a napari plugin.

The journey of the data: file pair -> `capture` -> (with `calibration`) `fitting` -> `results`.
In Python: `open`, `load_calibration`, `fit`, then `show` and `save` of the result.

Names are imported on first use: importing this package loads neither torch nor napari nor Qt.
"""

from napari_dpdeblur._version import __version__
from napari_dpdeblur.errors import DpDeblurError

TYPE_CHECKING = False  # what type checkers know as true; importing it would take longer than all

if TYPE_CHECKING:
    from napari_dpdeblur.api import (
        Calibration,
        DualPixelCapture,
        FitSettings,
        Result,
        Simulation,
        fetch_pixel4,
        fit,
        load_calibration,
        load_result,
        open,
        simulate,
    )

__all__ = [
    "Calibration",
    "DpDeblurError",
    "DualPixelCapture",
    "FitSettings",
    "Result",
    "Simulation",
    "__version__",
    "fetch_pixel4",
    "fit",
    "load_calibration",
    "load_result",
    "open",
    "simulate",
]


if not TYPE_CHECKING:  # to a type checker every name would exist

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
