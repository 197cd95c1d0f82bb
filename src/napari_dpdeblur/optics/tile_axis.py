"""TileAxis: windows of tiles along one image axis and how they are blended. NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from napari_dpdeblur.array_types import AnyFloatArray, Float64Array


@dataclass(frozen=True, eq=False)
class TileAxis:
    """Windows of equal size around the tiles of one axis, which may reach beyond the image.

    ``weights`` (tiles, window) sum to 1 over the tiles at every pixel of the image: 1 inside a
    tile, linear across a band around inner edges, 0 outside the image.
    """

    length: int
    starts: tuple[int, ...]
    window: int
    weights: Float64Array

    @classmethod
    def of(cls, edges: Sequence[int], blend_px: int) -> TileAxis:
        """Windows of the tiles between ``edges``, widened by half the blending band."""
        widths = [stop - start for start, stop in pairwise(edges)]
        margin = min(blend_px, min(widths)) // 2
        window = max(widths) + 2 * margin
        starts = tuple(int(edge) - margin for edge in edges[:-1])
        weights = [_weight(edges, tile, margin, window) for tile in range(len(widths))]
        return cls(int(edges[-1]), starts, window, np.stack(weights))

    def full_weights(self) -> Float64Array:
        """The weights on all pixels of the axis: (tiles, length)."""
        full = np.zeros((len(self.starts), self.length))
        for row, start, weight in zip(full, self.starts, self.weights, strict=True):
            low, high = max(start, 0), min(start + self.window, self.length)
            row[low:high] = weight[low - start : high - start]
        return full


def _weight(edges: Sequence[int], tile: int, margin: int, window: int) -> Float64Array:
    low, high, length = edges[tile], edges[tile + 1], edges[-1]
    centre = np.arange(low - margin, low - margin + window) + 0.5
    inside = (centre > 0) & (centre < length)
    entering = np.ones(window) if tile == 0 else _ramp(centre - low, margin)
    leaving = np.ones(window) if high == length else _ramp(high - centre, margin)
    return np.asarray(np.minimum(entering, leaving) * inside)


def _ramp(distance: AnyFloatArray, margin: int) -> Float64Array:
    if margin == 0:
        return np.asarray(distance > 0, np.float64)
    return np.asarray(np.clip(0.5 + distance / (2 * margin), 0.0, 1.0), np.float64)
