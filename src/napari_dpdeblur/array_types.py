"""Shared types of arrays and crops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
AnyFloatArray = npt.NDArray[np.floating]
Picture = npt.NDArray[np.uint8]  # (h, w, 3)
Crop = tuple[int, int, int, int]  # top, left, height, width
