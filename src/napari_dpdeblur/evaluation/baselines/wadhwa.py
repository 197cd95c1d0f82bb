"""Stereo matching of the two views in small tiles (Wadhwa et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.evaluation.baselines.direction import moves_right_behind_focus
from napari_dpdeblur.evaluation.baselines.edge_aware import edge_aware_fill
from napari_dpdeblur.evaluation.baselines.prediction import Prediction

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

TILE_PX = 8
# Wadhwa et al. search 3 px, which other scenes exceed: see docs/explanation/results.md.
SEARCH_PX = 5
# Errors and gradients are in units of a mean intensity of 0.5.
GOOD_ERROR = 2e-3  # mean squared difference that halves the confidence
GOOD_GRADIENT = 0.02  # horizontal gradient that halves the confidence
AGREEING_PX = 1.0  # distance from the neighbours' median at which confidence drops to 1/e
SMOOTHNESS = 100.0
EDGE = 0.03


def wadhwa(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
    """Match 8 x 8 tiles by the sum of squared differences, then fill edge-aware.

    Disparity is positive behind the focus plane, so it increases with blur.
    """
    left, right = calibration.prepare(capture).mean(axis=1)
    unit = np.float32(0.5 / max(float(left.mean() + right.mean()) / 2, 1e-12))
    left, right = left * unit, right * unit
    direction = 1 if moves_right_behind_focus(calibration) else -1
    cost = matching_cost(left, right, direction)
    disparity = sub_pixel_minimum(cost)
    confidence = _confidence(left, cost, disparity)
    guide = (left + right) / 2
    target, weight = (_grown(tiles, guide.shape) for tiles in (disparity, confidence))
    return Prediction(None, edge_aware_fill(target, weight, guide, SMOOTHNESS, EDGE))


def matching_cost(left: FloatArray, right: FloatArray, direction: int) -> FloatArray:
    """Mean squared difference of tiles at each shift, (2 SEARCH_PX + 1, rows, cols).

    ``direction`` is 1 when positive shifts move the right view to the right, else -1.
    """
    costs = []
    for shift in range(-SEARCH_PX, SEARCH_PX + 1):
        moved = _shifted(right, shift * direction)
        costs.append(_tile_means(np.square(left - moved)))
    return np.stack(costs)


def _shifted(image: FloatArray, shift_px: int) -> FloatArray:
    """Move the image (H, W) to the right, replicating its border."""
    padded = np.pad(image, ((0, 0), (SEARCH_PX, SEARCH_PX)), mode="edge")
    start = SEARCH_PX - shift_px
    return padded[:, start : start + image.shape[1]]


def _tile_means(image: FloatArray) -> FloatArray:
    """Means over tiles of (H, W); incomplete tiles are padded by replication."""
    height, width = image.shape
    padded = np.pad(image, ((0, -height % TILE_PX), (0, -width % TILE_PX)), mode="edge")
    rows, cols = padded.shape[0] // TILE_PX, padded.shape[1] // TILE_PX
    tiles = padded.reshape(rows, TILE_PX, cols, TILE_PX)
    return np.asarray(tiles.mean(axis=(1, 3)), np.float32)


def _grown(tiles: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Expand tile values to the pixels of an image of this shape."""
    return tiles.repeat(TILE_PX, axis=0).repeat(TILE_PX, axis=1)[: shape[0], : shape[1]]


def sub_pixel_minimum(cost: FloatArray) -> FloatArray:
    """Sub-pixel minimum of the cost by a parabola, (rows, cols), in pixels."""
    middle = np.clip(cost.argmin(axis=0), 1, len(cost) - 2)[np.newaxis]
    before, here, after = (np.take_along_axis(cost, middle + i, axis=0)[0] for i in (-1, 0, 1))
    curvature = np.maximum(before + after - 2 * here, 1e-12)
    offset = np.clip(0.5 * (before - after) / curvature, -1, 1)
    return np.asarray(middle[0] + offset - SEARCH_PX, np.float32)


def _confidence(left: FloatArray, cost: FloatArray, disparity: FloatArray) -> FloatArray:
    """Product of the four cues: error, horizontal gradient, second minimum, neighbours."""
    gradient = np.sqrt(_tile_means(np.square(cv2.Sobel(left, cv2.CV_32F, 1, 0, scale=1 / 8))))
    smallest = cost.min(axis=0)
    error_cue = GOOD_ERROR / (GOOD_ERROR + smallest)
    gradient_cue = gradient**2 / (gradient**2 + GOOD_GRADIENT**2)
    around = np.abs(disparity - cv2.medianBlur(disparity, 3))
    agreement_cue = np.exp(-np.square(around / AGREEING_PX))
    product = error_cue * gradient_cue * _uniqueness(cost, smallest) * agreement_cue
    return np.asarray(product, np.float32)


def _uniqueness(cost: FloatArray, smallest: FloatArray) -> npt.NDArray[np.floating]:
    """Relative height of the second minimum, not adjacent to the first: 0 to 1."""
    order = np.arange(len(cost))[:, np.newaxis, np.newaxis]
    apart = np.abs(order - cost.argmin(axis=0)) > 1
    second = np.where(apart, cost, np.inf).min(axis=0)
    return np.asarray(1 - smallest / np.maximum(second, 1e-12))
