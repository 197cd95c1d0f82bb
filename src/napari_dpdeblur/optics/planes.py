"""Planes of a slanted or curved layer: what a renderer blurs in its place.

Works with tensors and with NumPy arrays, and does not load torch for the latter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

PLANE_STEP = 0.12  # defocus between two planes of a layer; see `layer_colors.plane_step`


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane of a layer: its defocus, and its share (1, H, W) of the layer's alpha."""

    scale: float
    weight: Any


def layer_planes(alpha: Any, defocus: Any, typical: float, step: float = PLANE_STEP) -> list[Plane]:
    """Planes at most ``step`` apart of a layer with alpha (1, H, W), from near to far.

    ``defocus`` (1, H, W), or None for a layer that is a plane of the scale ``typical``. A pixel is
    divided linearly between the two planes around it. The light and the alpha of the layer are the
    sums of those of its planes, because a surface does not occlude itself.
    """
    inside: Any = [] if defocus is None else defocus[alpha > 0]
    if len(inside) == 0:
        return [Plane(typical, alpha)]
    low, high = float(inside.min()), float(inside.max())
    count = math.ceil((high - low) / step - 1e-3)
    if count < 1:
        return [Plane((low + high) / 2, alpha)]
    place = (defocus.clip(low, high) - low) / (high - low) * count
    weights = ((1 - abs(place - i)).clip(0, 1) * alpha for i in range(count + 1))
    scales = (low + (high - low) * i / count for i in range(count + 1))
    return [Plane(s, w) for s, w in zip(scales, weights, strict=True) if bool((w > 0).any())]
