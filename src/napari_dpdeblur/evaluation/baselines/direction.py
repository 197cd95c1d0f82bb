"""On which side of the right view the left view of something blurred lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration


def moves_right_behind_focus(calibration: Calibration) -> bool:
    """Whether the left view of what lies behind the focus plane is moved to the right."""
    columns = np.arange(calibration.kernels.shape[-1])
    left, right = calibration.kernels.sum(axis=(0, 2)) @ columns
    return bool(left > right)
