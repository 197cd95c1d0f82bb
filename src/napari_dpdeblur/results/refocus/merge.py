"""Merge layers of similar defocus, which a preview need not blur separately."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray

Scales = npt.NDArray[np.floating]
Layers = npt.NDArray[np.intp]


def groups_of_scales(
    scales: Scales, tolerance: float, layer_of: Layers | None = None
) -> list[slice]:
    """Runs of neighbouring layers whose scales span at most twice ``tolerance``.

    ``layer_of`` (P,) are the layers of planes: those of a divided layer stay alone.
    """
    layer_of = np.arange(len(scales)) if layer_of is None else layer_of
    is_alone = np.bincount(layer_of)[layer_of] > 1
    groups, first = [], 0
    for number in range(1, len(scales) + 1):
        is_last = number == len(scales)
        if (
            is_last
            or is_alone[[number - 1, number]].any()
            or np.ptp(scales[first : number + 1]) > 2 * tolerance
        ):
            groups.append(slice(first, number))
            first = number
    return groups


def merged(
    layers: FloatArray, scales: Scales, layer_of: Layers, tolerance: float
) -> tuple[FloatArray, Scales, Layers]:
    """Merged planes (P, 1 + C, H, W), back to front, their scales, and their layers from 0 on.

    The channels of a plane are its alpha and its premultiplied colours.
    """
    groups = groups_of_scales(scales, tolerance, layer_of)
    if len(groups) == len(scales):
        return layers, scales, layer_of
    out = np.stack([_composite(layers[group]) for group in groups])
    mean = np.array([(scales[group].min() + scales[group].max()) / 2 for group in groups])
    numbers = np.unique([layer_of[group.start] for group in groups], return_inverse=True)[1]
    return out, mean, numbers


def _composite(layers: FloatArray) -> FloatArray:
    out: FloatArray = layers[0].copy()
    for layer in layers[1:]:
        out *= 1 - layer[:1]
        out += layer
    return out
