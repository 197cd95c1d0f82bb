"""Which surfaces share a layer, and which layer is in front of which."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from napari_dpdeblur.fitting.parameters.surfaces import LayerStackParameters
from napari_dpdeblur.fitting.surfaces.find import Surface
from napari_dpdeblur.fitting.surfaces.regions import borders_between, distance_px


def group_surfaces(
    surfaces: list[Surface], layers: int | None, parameters: LayerStackParameters
) -> list[Surface]:
    """One surface for each layer, far to near.

    Surfaces of nearly the same defocus share a layer. With a number of ``layers``, the most
    similar ones are joined, or the widest ones divided, until there are as many, if possible.
    """
    groups = sorted(surfaces, key=lambda surface: -surface.scale)
    limit = parameters.same_layer_step
    while len(groups) > 1:
        gaps = [far.scale - near.scale for far, near in pairwise(groups)]
        is_excess = layers is not None and len(groups) > layers
        is_alike = layers is None and min(gaps) < limit
        if not (is_excess or is_alike):
            break
        index = int(np.argmin(gaps))
        groups[index : index + 2] = [_united(groups[index], groups[index + 1])]
    while layers is not None and len(groups) < layers:
        divided = _divided(groups, parameters)
        if divided is None:
            break
        groups = divided
    return far_to_near(groups, parameters)


def _united(far: Surface, near: Surface) -> Surface:
    """Two surfaces as one, each with its own defocus, which reaches as far as it is the nearer."""
    larger = far if far.share >= near.share else near
    is_far = distance_px(far.region) <= distance_px(near.region)
    defocus = np.where(is_far, far.defocus, near.defocus)
    region = far.region | near.region
    confidence = (far.confidence * far.share + near.confidence * near.share) / max(
        far.share + near.share, 1e-12
    )
    return Surface(region, defocus, float(np.median(defocus[region])), larger.shape, confidence)


def _divided(groups: list[Surface], parameters: LayerStackParameters) -> list[Surface] | None:
    """The surfaces with the widest one divided in the middle of its defocus; None: all are flat."""
    ranges = [np.ptp(surface.defocus[surface.region]) for surface in groups]
    index = int(np.argmax(ranges))
    if ranges[index] < parameters.divisible_range:
        return None
    whole = groups[index]
    inside = whole.defocus[whole.region]
    middle = (inside.min() + inside.max()) / 2
    parts = (whole.region & (whole.defocus > middle), whole.region & (whole.defocus <= middle))
    halves = [
        Surface(
            part,
            whole.defocus,
            float(np.median(whole.defocus[part])),
            whole.shape,
            whole.confidence,
        )
        for part in parts
    ]
    return [*groups[:index], *halves, *groups[index + 1 :]]


def far_to_near(surfaces: list[Surface], parameters: LayerStackParameters) -> list[Surface]:
    """Surfaces in the order in which they cover each other.

    Where two meet, the one with the smaller defocus is in front, whatever their typical defocus:
    a thing stands in front of the ground that reaches from behind it to the camera. Surfaces that
    do not meet, or without a step, are ordered by their typical defocus.
    """
    labels = label_image(surfaces)
    behind: dict[int, set[int]] = {i: set() for i in range(len(surfaces))}
    for (first, second), pixels in borders_between(labels).items():
        step = surfaces[first].defocus.ravel()[pixels] - surfaces[second].defocus.ravel()[pixels]
        typical = float(np.median(step))
        if abs(typical) > parameters.occlusion_step:
            far, near = (first, second) if typical > 0 else (second, first)
            behind[near].add(far)
    return [surfaces[i] for i in _sorted(behind, [surface.scale for surface in surfaces])]


def _sorted(behind: dict[int, set[int]], scales: list[float]) -> Iterable[int]:
    """Topological order, farthest first; circles are cut at the farthest surface."""
    left = set(behind)
    while left:
        free = [i for i in left if not behind[i] & left] or list(left)
        chosen = max(free, key=lambda i: scales[i])
        left.remove(chosen)
        yield chosen


def label_image(surfaces: list[Surface]) -> np.ndarray:
    """Index of the surface that each pixel belongs to: (h, w)."""
    labels = np.zeros(surfaces[0].region.shape, np.int32)
    for index, surface in enumerate(surfaces):
        labels[surface.region] = index
    return labels
