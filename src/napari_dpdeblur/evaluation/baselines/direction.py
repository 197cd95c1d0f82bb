"""Sign of the disparity of a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration


def moves_right_behind_focus(calibration: Calibration) -> bool:
    """Whether the left view is shifted to the right for objects behind the focus plane."""
    columns = np.arange(calibration.kernels.shape[-1])
    left, right = calibration.kernels.sum(axis=(0, 2)) @ columns
    return bool(left > right)
