"""Levels of a defocus map: the values that its plateaus cluster around."""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters


def local_range(values: FloatArray, radius: int) -> FloatArray:
    """Largest minus smallest value (h, w) within a square around each pixel."""
    square = np.ones((2 * radius + 1,) * 2, np.uint8)
    return np.asarray(cv2.dilate(values, square) - cv2.erode(values, square))


def plateaus(defocus_map: FloatArray, parameters: SurfaceParameters) -> FloatArray:
    """1 where a map (h, w) is flat, else 0; 1 everywhere if it is flat nowhere."""
    is_flat = local_range(defocus_map, parameters.plateau_radius_px) < parameters.plateau_range
    return (is_flat if is_flat.any() else np.ones_like(is_flat)).astype(np.float32)


def find_levels(
    values: FloatArray, weights: FloatArray, parameters: SurfaceParameters
) -> FloatArray:
    """The fewest levels that lie close to the weighted values, far to near.

    Weighted k-means in one dimension, solved exactly by dynamic programming over a histogram
    (Wang and Song 2011).
    """
    counts, centres = _histogram(values, weights, parameters)
    cost = _interval_costs(counts, centres)
    total = cost[0].copy()
    levels = _level_values(counts, centres, [])
    cuts: list[np.ndarray] = []
    for count in range(1, parameters.max_levels + 1):
        if count > 1:
            split = total[:, None] + cost
            cuts.append(split.argmin(0))
            total = split.min(0)
        levels = _level_values(counts, centres, cuts)
        missed = np.abs(centres[:, None] - levels).min(1) > parameters.level_distance
        rms = np.sqrt(max(total[-1], 0) / counts.sum())
        if (
            rms < parameters.level_rms
            and counts[missed].sum() <= parameters.min_area * counts.sum()
        ):
            break
    return levels


def nearest_level(values: FloatArray, levels: FloatArray) -> np.ndarray:
    """Index of the nearest of the levels, which fall, for each value."""
    between = (levels[1:] + levels[:-1]) / 2
    return len(levels) - 1 - np.searchsorted(between[::-1], values)


def _histogram(
    values: FloatArray, weights: FloatArray, parameters: SurfaceParameters
) -> tuple[np.ndarray, np.ndarray]:
    counted = values[weights > 0]
    tail = parameters.range_tail
    low, high = np.quantile(counted, [tail, 1 - tail])
    edges = np.linspace(low - 1e-6, high + 1e-6, parameters.histogram_bins + 1)
    within = np.clip(values, low, high)
    counts, _ = np.histogram(within, edges, weights=weights.astype(np.float64))
    return counts, (edges[1:] + edges[:-1]) / 2


def _interval_costs(counts: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances of bins i to j - 1 from their mean: (bins + 1, bins + 1), inf if j <= i."""
    mass, first, second = (
        np.concatenate([[0], np.cumsum(counts * centres**power)]) for power in (0, 1, 2)
    )
    weight, mean, square = (s[None, :] - s[:, None] for s in (mass, first, second))
    spread = square - mean**2 / np.maximum(weight, 1e-12)
    before = np.tri(len(mass), dtype=bool)
    cost = np.where(before, np.inf, np.maximum(spread, 0))
    cost[0, 0] = 0
    return np.asarray(cost)


def _level_values(counts: np.ndarray, centres: np.ndarray, cuts: list[np.ndarray]) -> FloatArray:
    borders = [len(counts)]
    for cut in reversed(cuts):
        borders.append(int(cut[borders[-1]]))
    borders.append(0)
    means = [
        float(np.average(centres[first:last], weights=counts[first:last]))
        for last, first in pairwise(borders)
        if counts[first:last].sum() > 0
    ]
    return np.array(means, np.float32)
