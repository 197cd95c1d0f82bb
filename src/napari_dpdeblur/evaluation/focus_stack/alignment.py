"""Align a focus stack: estimate and undo focus breathing.

Focus breathing is a zoom and a shift that change smoothly from slice to slice. Neighbouring slices
look alike, so each is aligned with the previous one; a smooth curve through the chain prevents
errors from accumulating.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from scipy.ndimage import affine_transform

from napari_dpdeblur.array_types import Float64Array, FloatArray

CURVE_DEGREE = 3
MAX_ITERATIONS = 60
MIN_INCREMENT = 1e-6
GAUSSIAN_SIZE_PX = 5
MAX_ZOOM_STEP = 0.03  # between neighbours; more is a false match
MAX_SHIFT_STEP = 0.03  # of the longer side


@dataclass(frozen=True)
class Breathing:
    """Zoom (S,) and shift (S, 2) along x and y, in pixels at the centre, relative to slice 0."""

    zoom: Float64Array
    shift_px: Float64Array

    def undone(self, slices: FloatArray) -> FloatArray:
        """Slices (S, C, H, W) warped to the geometry of the first one."""
        return np.stack([self._undone(i, images) for i, images in enumerate(slices)])

    def _undone(self, index: int, images: FloatArray) -> FloatArray:
        if index == 0:
            return images
        matrix, offset = self._rows_cols(index, images.shape[-2:])
        # OpenCV would round the shift to 1/32 px.
        warped = [affine_transform(image, matrix, offset, mode="nearest") for image in images]
        return np.asarray(np.stack(warped), np.float32)

    def _rows_cols(self, index: int, shape: tuple[int, ...]) -> tuple[Float64Array, Float64Array]:
        """Matrix and offset from (row, column) of slice 0 to those of slice ``index``."""
        zoom = self.zoom[index]
        centre = (np.array(shape) - 1) / 2
        return np.eye(2) * zoom, (1 - zoom) * centre + self.shift_px[index, ::-1]

    def corner_movement_px(self, height: int, width: int) -> float:
        """Largest shift of a corner between the first and any other slice."""
        reach = np.hypot(height, width) / 2
        return float((np.abs(self.zoom - 1) * reach + np.hypot(*self.shift_px.T)).max())


def find_breathing(slices: FloatArray) -> Breathing:
    """Estimate zoom and shift of each slice (S, C, H, W) relative to the first."""
    pictures = [_normalised(images.mean(axis=0)) for images in slices]
    steps = [_step(first, second) for first, second in pairwise(pictures)]
    log_zoom = np.concatenate([[0.0], np.cumsum([np.log(zoom) for zoom, _ in steps])])
    # The zoom of earlier steps also scales the shift, but that product is far below 0.01 px.
    shift = np.concatenate([np.zeros((1, 2)), np.cumsum([s for _, s in steps], axis=0)])
    return Breathing(np.exp(_smooth(log_zoom[:, np.newaxis])[:, 0]), _smooth(shift))


def _step(first: FloatArray, second: FloatArray) -> tuple[float, Float64Array]:
    """Zoom and central shift from one slice to the next; identity if they do not match."""
    nothing = 1.0, np.zeros(2)
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, MAX_ITERATIONS, MIN_INCREMENT)
    mask = np.full(first.shape, 255, np.uint8)
    start = np.eye(2, 3, dtype=np.float32)
    try:
        _, found = cv2.findTransformECC(
            first, second, start, cv2.MOTION_AFFINE, criteria, mask, GAUSSIAN_SIZE_PX
        )
    except cv2.error:
        return nothing
    matrix = np.asarray(found, np.float64)
    height, width = first.shape
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    zoom = float(np.trace(matrix[:, :2]) / 2)
    shift = matrix @ np.append(centre, 1.0) - centre
    good = abs(zoom - 1) < MAX_ZOOM_STEP and np.abs(shift).max() < MAX_SHIFT_STEP * max(first.shape)
    return (zoom, shift) if good else nothing


def _smooth(chain: Float64Array) -> Float64Array:
    """Cubic fit to the columns of (S, n), starting at 0."""
    position = np.linspace(0.0, 1.0, len(chain))
    powers = position[:, np.newaxis] ** np.arange(1, min(CURVE_DEGREE, len(chain) - 1) + 1)
    coefficients = np.linalg.lstsq(powers, chain, rcond=None)[0]
    return np.asarray(powers @ coefficients)


def _normalised(picture: FloatArray) -> FloatArray:
    spread = float(picture.std())
    return np.asarray((picture - picture.mean()) / max(spread, 1e-12), np.float32)
