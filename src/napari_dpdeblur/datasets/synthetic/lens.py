"""A parametric dual-pixel lens: blur kernels and vignetting from a model of its pupil.

The pupil is a soft disc. Each view weights it smoothly along x (the micro-lens splits the light),
the barrel clips it towards the corners, and the focal surface is curved. The constants are chosen
to resemble a phone camera; no measured kernel is copied.
"""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.optics.moments import first_moment

DISPARITY_PX = -5.3
FRONT_DISPARITY_PX = 4.2
KERNEL_PX = 41
TILE_PX = 168
# Pupil coordinates run from -1 to 1 across the aperture.
EDGE_SOFTNESS = 0.14
RIM_GAIN = 0.35
FRONT_RIM_GAIN = -0.35  # spherical aberration: a bright rim behind the focus, a soft one before it
BARREL_RADIUS = 1.22
BARREL_SHIFT = 0.4
FIELD_CURVATURE = 0.12
SPLIT_SHIFT = 0.35
SPLIT_SOFTNESS = (0.95, 0.7)
SPLIT_FLOOR = (0.04, 0.1)
CENTRE_OFFSET_PX = (-0.6, -1.2)  # rows, columns: real kernels are off centre, too
SUPERSAMPLING = 3


def synthetic_kernels(
    rows: int,
    cols: int,
    size: int = KERNEL_PX,
    disparity_px: float = DISPARITY_PX,
    rim_gain: float = RIM_GAIN,
) -> np.ndarray:
    """Blur kernels of a rows x cols grid at defocus scale 1: float32 (rows * cols, 2, size, size).

    They vary spatially, are not mirror images of each other and sum to 1. The centroids of left and
    right differ by ``disparity_px`` along x on average over the tiles: negative behind the focus
    plane, positive in front of it, where the kernels are turned by 180 degrees. ``rim_gain`` is how
    much brighter the rim of the pupil is than its centre.
    """
    if size < 3 or size % 2 == 0 or rows < 1 or cols < 1:
        raise CaptureError(
            f"Synthetic kernels need an odd size of at least 3 px and at least one tile, not "
            f"{size} px and {rows} x {cols} tiles."
        )
    fields = _tile_centres(rows, cols)
    # The disparity is proportional to the radius: measure it once, then scale.
    probe_px = 12.0
    probe = np.stack([_kernel_pair(field, probe_px, 61, rim_gain) for field in fields])
    radius_px = probe_px * disparity_px / _mean_disparity(probe)
    reach_px = abs(radius_px) * (1 + FIELD_CURVATURE + EDGE_SOFTNESS) + max(
        map(abs, CENTRE_OFFSET_PX)
    )
    if reach_px > size / 2:
        raise CaptureError(
            f"Synthetic kernels of {size} px are too small for a disparity of {disparity_px:g} px; "
            f"use a size of at least {2 * int(np.ceil(reach_px)) + 1} px."
        )
    return np.stack([_kernel_pair(field, radius_px, size, rim_gain) for field in fields])


def synthetic_front_kernels(
    rows: int, cols: int, size: int = KERNEL_PX, disparity_px: float = FRONT_DISPARITY_PX
) -> np.ndarray:
    """Kernels in front of the focus plane that differ from those behind it, as in a real lens."""
    return synthetic_kernels(rows, cols, size, disparity_px, FRONT_RIM_GAIN)


def default_tiles(height: int, width: int) -> tuple[int, int]:
    """Rows and columns of a kernel grid: tiles of about 168 px, at most 6 x 8."""
    return min(max(round(height / TILE_PX), 1), 6), min(max(round(width / TILE_PX), 1), 8)


def synthetic_vignetting(height: int, width: int) -> np.ndarray:
    """Relative illumination of both views, with maximum 1: float32 (2, height, width)."""
    rows, cols = 13, 17
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : cols * 1j]
    grid = np.linspace(-1.2, 1.2, 97)
    light = [
        _pupil(np.array(f), *np.meshgrid(grid, grid, indexing="ij")).sum((1, 2))
        for f in zip(y.ravel(), x.ravel(), strict=True)
    ]
    fall_off = 1 / (1 + 0.35 * (y**2 + x**2)) ** 2
    coarse = (np.stack(light, 1).reshape(2, rows, cols) * fall_off).astype(np.float32)
    maps = np.stack([_smooth_resize(plane, height, width) for plane in coarse])
    return np.asarray(maps / maps.max(), np.float32)


def _smooth_resize(plane: np.ndarray, height: int, width: int) -> np.ndarray:
    fine = cv2.resize(plane, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(fine, np.float32)


def _tile_centres(rows: int, cols: int) -> np.ndarray:
    """Positions (P, 2) of the tiles as (y, x) in -1..1, row-major."""
    y = (2 * np.arange(rows) + 1) / rows - 1
    x = (2 * np.arange(cols) + 1) / cols - 1
    return np.stack(np.meshgrid(y, x, indexing="ij"), axis=-1).reshape(-1, 2)


def _kernel_pair(
    field: np.ndarray, radius_px: float, size: int, rim_gain: float = RIM_GAIN
) -> np.ndarray:
    """Both kernels at one position of the field, area-sampled: float32 (2, size, size)."""
    fine = size * SUPERSAMPLING
    position_px = (np.arange(fine) + 0.5) / SUPERSAMPLING - size / 2
    curvature = 1 + FIELD_CURVATURE * (field @ field - 1)
    v = (position_px - CENTRE_OFFSET_PX[0]) / (radius_px * curvature)
    u = (position_px - CENTRE_OFFSET_PX[1]) / (radius_px * curvature)
    rows_v, cols_u = np.meshgrid(v, u, indexing="ij")
    light = _pupil(field, rows_v, cols_u, rim_gain)
    kernels = light.reshape(2, size, SUPERSAMPLING, size, SUPERSAMPLING).sum((2, 4))
    return np.asarray(kernels / kernels.sum((1, 2), keepdims=True), np.float32)


def _pupil(
    field: np.ndarray, v: np.ndarray, u: np.ndarray, rim_gain: float = RIM_GAIN
) -> np.ndarray:
    """Light that each view receives through pupil positions (v, u): (2, n, m)."""
    y, x = field
    aperture = _soft_step(1 - np.hypot(v, u), EDGE_SOFTNESS)
    off_axis = np.hypot(v + BARREL_SHIFT * y, u + BARREL_SHIFT * x)
    barrel = _soft_step(BARREL_RADIUS - off_axis, EDGE_SOFTNESS)
    brightness = np.maximum(1 + rim_gain * (v**2 + u**2), 0.0)
    split = u + SPLIT_SHIFT * x
    seen = [
        floor + _soft_step(sign * split, softness)
        for sign, softness, floor in zip((-1, 1), SPLIT_SOFTNESS, SPLIT_FLOOR, strict=True)
    ]
    return np.asarray(np.stack(seen) * (aperture * barrel * brightness))


def _soft_step(distance: np.ndarray, softness: float) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(distance / softness)))


def _mean_disparity(kernels: np.ndarray) -> float:
    centroids = first_moment(kernels, -1)
    return float((centroids[:, 0] - centroids[:, 1]).mean())
