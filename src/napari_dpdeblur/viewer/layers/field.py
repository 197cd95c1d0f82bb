"""The outline of the calibrated field, where a fit does not cover the whole capture."""

from __future__ import annotations

import numpy as np

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.viewer.layers.convert import make_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo
from napari_dpdeblur.viewer.layers.placement import placement

FIELD = "calibrated field"
COLOR = (255, 196, 0, 255)
MAX_PX = 320  # longer side of the picture; its border of one pixel is the line
WHOLE = 0.98  # of height and width, from which on a field counts as the whole frame


def covers_frame(field: Crop, frame: tuple[int, int]) -> bool:
    """Whether a field is as large as the frame that it lies in."""
    return field[2] >= WHOLE * frame[0] and field[3] >= WHOLE * frame[1]


def field_layer(group: str, field: Crop) -> LayerData:
    """A line around the field.

    An image, transparent inside, because the first layer of another type takes napari a second.
    """
    top, left, height, width = field
    size = max(max(height, width) / MAX_PX, 1.0)
    rows, cols = round(height / size) + 2, round(width / size) + 2  # the line lies outside
    pixels = np.zeros((rows, cols, 4), np.uint8)
    pixels[[0, -1]] = pixels[:, [0, -1]] = COLOR
    scale = (height / (rows - 2), width / (cols - 2))
    corner = (top - scale[0] / 2 - 0.5, left - scale[1] / 2 - 0.5)
    return make_layer(pixels, LayerInfo(FIELD, group), placement(scale, corner), rgb=True)
