"""Coverage of camera pixels by the discs: the latent sharp image of the screen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from napari_dpdeblur.calibration.target.geometry import pixel_grid
from napari_dpdeblur.calibration.target.pattern import Target

MIN_SLOPE = 1e-6


def disc_coverage(
    target: Target,
    to_screen: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
    top: int = 0,
    left: int = 0,
) -> np.ndarray:
    """Share of each pixel of a window covered by discs, M in the paper: float32 (H, W).

    ``to_screen`` maps camera pixels (..., 2) to screen pixels. The distance to the nearest edge
    is measured in camera pixels, whatever perspective and distortion do there.
    """
    # One extra pixel on each side for central differences.
    pixels = pixel_grid(shape[0] + 2, shape[1] + 2, top - 1, left - 1)
    distance = target.signed_distance_px(to_screen(pixels))
    slope_y = (distance[2:, 1:-1] - distance[:-2, 1:-1]) / 2
    slope_x = (distance[1:-1, 2:] - distance[1:-1, :-2]) / 2
    slope = np.maximum(np.hypot(slope_x, slope_y), MIN_SLOPE)
    return np.asarray(np.clip(0.5 + distance[1:-1, 1:-1] / slope, 0.0, 1.0), np.float32)
