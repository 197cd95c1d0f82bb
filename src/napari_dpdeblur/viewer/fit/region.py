"""The part of a capture that the canvas shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import LEFT, RIGHT


def visible_region(viewer: Any, group: str) -> Crop | None:
    """The visible part of a capture in square pixels of its frame; None for all of it."""
    layer = queries.layer_of(viewer, group, LEFT) or queries.layer_of(viewer, group, RIGHT)
    if layer is None or viewer.dims.ndisplay != 2:
        return None
    scale = np.asarray(layer.scale[-2:])
    first, last = np.asarray(layer.corner_pixels)[:, -2:]
    # pixels are as large as the scale says; the frame begins at the edge of the first one
    top, left = np.floor(first * scale)
    bottom, right = np.ceil((last + 1) * scale)
    height, width = np.asarray(layer.data.shape[:2]) * scale
    top, left = max(int(top), 0), max(int(left), 0)
    bottom, right = min(int(bottom), int(height)), min(int(right), int(width))
    return top, left, bottom - top, right - left
