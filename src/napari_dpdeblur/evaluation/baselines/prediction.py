"""The output of a method, and the common signature of all methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture


@dataclass(frozen=True)
class LayerPictures:
    """Layers to look at, back to front: sRGB with straight alpha (L, h, w, 4) and their scales.

    They are reduced: ``pixels`` need not have the size of the result.
    """

    pixels: npt.NDArray[np.uint8]
    scales: FloatArray


@dataclass(frozen=True)
class Prediction:
    """An all-in-focus image, a defocus map or both, on the calibrated field.

    ``all_in_focus`` (C, H, W) is linear, in the unit of the capture; ``defocus_map`` (H, W)
    increases from front to back, in any unit, 0 in the focus plane if the method knows it;
    ``residual`` (H, W) is the error of the views that the result explains, over noise; ``layers``
    are those of a fit. None: the method does not compute it.
    """

    all_in_focus: FloatArray | None = None
    defocus_map: FloatArray | None = None
    residual: FloatArray | None = None
    layers: LayerPictures | None = None


if TYPE_CHECKING:
    Method = Callable[[DualPixelCapture, Calibration], Prediction]
