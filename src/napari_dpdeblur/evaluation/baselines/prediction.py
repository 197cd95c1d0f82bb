"""The output of a method, and the common signature of all methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from napari_dpdeblur.array_types import FloatArray

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture


@dataclass(frozen=True)
class Prediction:
    """An all-in-focus image, a defocus map or both, on the calibrated field.

    ``all_in_focus`` (C, H, W) is linear, in the unit of the capture; ``defocus_map`` (H, W)
    increases from front to back, in any unit, 0 in the focus plane if the method knows it. None:
    the method does not compute it.
    """

    all_in_focus: FloatArray | None = None
    defocus_map: FloatArray | None = None


if TYPE_CHECKING:
    Method = Callable[[DualPixelCapture, Calibration], Prediction]
