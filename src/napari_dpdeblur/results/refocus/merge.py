"""Merge layers of similar defocus, which a preview need not blur separately."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray


def groups_of_scales(scales: npt.NDArray[np.floating], tolerance: float) -> list[slice]:
    """Runs of neighbouring layers whose scales span at most twice ``tolerance``."""
    groups, first = [], 0
    for number in range(1, len(scales) + 1):
        is_last = number == len(scales)
        if is_last or np.ptp(scales[first : number + 1]) > 2 * tolerance:
            groups.append(slice(first, number))
            first = number
    return groups


def merged(
    layers: FloatArray, scales: npt.NDArray[np.floating], tolerance: float
) -> tuple[FloatArray, npt.NDArray[np.floating]]:
    """Merged layers (L, 1 + C, H, W), back to front (alpha, premultiplied colours), and scales."""
    groups = groups_of_scales(scales, tolerance)
    if len(groups) == len(scales):
        return layers, scales
    out = np.stack([_composite(layers[group]) for group in groups])
    return out, np.array([(scales[group].min() + scales[group].max()) / 2 for group in groups])


def _composite(layers: FloatArray) -> FloatArray:
    out: FloatArray = layers[0].copy()
    for layer in layers[1:]:
        out *= 1 - layer[:1]
        out += layer
    return out
