"""Lateral chromatic aberration: red and blue that are a little larger or smaller than green."""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters
from napari_dpdeblur.fitting.photo.alignment import displacements

GREEN, OTHERS = 1, (0, 2)
REWEIGHTINGS = 5


def chromatic_shift_px(
    views: FloatArray, centre: tuple[float, float], parameters: RegistrationParameters
) -> tuple[float, float]:
    """How far red and blue lie outside green at the corners: measured in views (2, 3, H, W).

    ``centre`` (y, x) is where the optical axis meets the image.
    """
    mean = views.mean(0)
    green = np.ascontiguousarray(mean[GREEN])
    shifts = []
    for channel in OTHERS:
        tiles = displacements(green, np.ascontiguousarray(mean[channel]), parameters)
        x, y, move_x, move_y, weight = tiles
        from_y, from_x = y - centre[0], x - centre[1]
        square = from_x**2 + from_y**2
        along = move_x * from_x + move_y * from_y
        stretch, trusted = 0.0, weight
        for _ in range(REWEIGHTINGS):
            total = (trusted * square).sum()
            stretch = float((trusted * along).sum() / total) if total > 0 else 0.0
            left = np.hypot(move_x - stretch * from_x, move_y - stretch * from_y)
            trusted = weight / (1 + (left / (np.median(left) + 1e-3)) ** 2)
        shifts.append(stretch * _corner_px(green.shape, centre))
        check_cancelled()
    return shifts[0], shifts[1]


def without_chromatic_shift(
    views: FloatArray, centre: tuple[float, float], shift_px: tuple[float, float]
) -> FloatArray:
    """Views (2, 3, H, W) with red and blue scaled about the optical axis to the size of green."""
    height, width = views.shape[-2:]
    corner = _corner_px((height, width), centre)
    corrected = views.copy()
    for channel, shift in zip(OTHERS, shift_px, strict=True):
        scale = 1 + shift / corner
        there = [
            [scale, 0, (1 - scale) * centre[1]],
            [0, scale, (1 - scale) * centre[0]],
        ]
        for view in corrected:
            view[channel] = cv2.warpAffine(
                np.ascontiguousarray(view[channel]),
                np.array(there),
                (width, height),
                flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
                borderMode=cv2.BORDER_REPLICATE,
            )
    return np.maximum(corrected, 0)


def _corner_px(shape: tuple[int, ...], centre: tuple[float, float]) -> float:
    """Distance of the farthest corner from the optical axis."""
    height, width = shape
    return float(np.hypot(max(centre[0], height - centre[0]), max(centre[1], width - centre[1])))
