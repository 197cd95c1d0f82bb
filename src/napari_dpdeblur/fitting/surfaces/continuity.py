"""Regions that pass into each other without a step: parts of one rounded thing."""

from __future__ import annotations

from dataclasses import dataclass

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
    that, and the slope is real. So is one along a border that is longer than an outline would be:
    the levels cut a large slanted surface into strips.
    """
    step = local_range(defocus_map, parameters.border_radius_px).ravel()
    side_px = np.sqrt(np.bincount(regions.ravel()))
    border_px: dict[int, int] = {}
    open_px: dict[int, dict[int, int]] = {}
    for pair, pixels in borders_between(regions).items():
        border = _Border(
            step=float(np.median(step[pixels])),
            scales=(scales[pair[0]], scales[pair[1]]),
            length=len(pixels) / float(side_px[list(pair)].min()),
        )
        for region, beside in (pair, pair[::-1]):
            border_px[region] = border_px.get(region, 0) + len(pixels)
            if border.is_slope(parameters):
                open_px.setdefault(region, {})[beside] = len(pixels)
    return {
        region: list(beside)
        for region, beside in open_px.items()
        if sum(beside.values()) > parameters.open_border * border_px[region]
    }


@dataclass(frozen=True)
class _Border:
    """Where two regions meet: range of the map across it, typical defocus of both, length.

    The length is relative to the square root of the smaller region's area.
    """

    step: float
    scales: tuple[float, float]
    length: float

    def is_slope(self, parameters: SurfaceParameters) -> bool:
        """Whether the two levels are the ends of a slope rather than apart by a step."""
        difference = abs(self.scales[0] - self.scales[1])
        error = parameters.flat_share * max(map(abs, self.scales))
        gradual = max(parameters.smooth_step, parameters.gradual_share * difference)
        is_near_focus = error < difference < parameters.near_step and self.step < gradual
        smooth = min(parameters.smooth_step, parameters.smooth_share * difference)
        is_cut = self.length > parameters.long_border and self.step < smooth
        return is_near_focus or is_cut
