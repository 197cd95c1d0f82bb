"""Regions that pass into each other without a step: parts of one rounded thing."""

from __future__ import annotations

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters
from napari_dpdeblur.fitting.surfaces.levels import local_range
from napari_dpdeblur.fitting.surfaces.regions import borders_between


def continued(
    defocus_map: FloatArray,
    regions: np.ndarray,
    scales: dict[int, float],
    parameters: SurfaceParameters,
) -> dict[int, list[int]]:
    """Neighbours that a region passes into, for those regions that mostly have no outline.

    ``scales`` are the typical defocus of each region (h, w). Far from the focus plane a slope of
    the map between two levels is a step that blur has widened; close to it blur is too small for
    that, and the slope is real.
    """
    step = local_range(defocus_map, parameters.border_radius_px).ravel()
    border_px: dict[int, int] = {}
    open_px: dict[int, dict[int, int]] = {}
    for (first, second), pixels in borders_between(regions).items():
        near, far = abs(scales[first]), abs(scales[second])
        is_open = _is_slope(
            float(np.median(step[pixels])),
            abs(scales[first] - scales[second]),
            parameters.flat_share * max(near, far),
            parameters,
        )
        for region, beside in ((first, second), (second, first)):
            border_px[region] = border_px.get(region, 0) + len(pixels)
            if is_open:
                open_px.setdefault(region, {})[beside] = len(pixels)
    return {
        region: list(beside)
        for region, beside in open_px.items()
        if sum(beside.values()) > parameters.open_border * border_px[region]
    }


def _is_slope(step: float, difference: float, error: float, parameters: SurfaceParameters) -> bool:
    """Whether two levels of a given difference are the ends of a slope.

    ``step`` is the range of the map across their border, ``error`` a possible error of both.
    """
    gradual = max(parameters.smooth_step, parameters.gradual_share * difference)
    return error < difference < parameters.near_step and step < gradual
