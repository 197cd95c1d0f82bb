"""Defocus search in closed form: from the two views to a defocus map and its confidence."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.defocus.cost_volume import CostVolume, compute_cost_volume
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, local_estimate, propagate
from napari_dpdeblur.fitting.image.filters import GuidedFilter, box_mean, voted_median
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.defocus import (
    CostVolumeParameters,
    MapEdgeParameters,
    SearchParameters,
)
from napari_dpdeblur.fitting.presets import Sides
from napari_dpdeblur.fitting.problem import FitProblem, area_resample, resample

REDUCTIONS = (8, 4, 2)


@dataclass(frozen=True)
class DefocusSearch:
    """Estimates of single pixels and the map (h, w) spread from them, at reduced resolution."""

    estimate: Estimate
    defocus_map: Tensor


def search_factor(problem: FitProblem, parameters: SearchParameters) -> int:
    """How far the search may reduce the image: 1, 2, 4 or 8 calibrated pixels.

    A coarse search is fast and sees little noise, but the disparity must remain measurable.
    """
    disparity = float(problem.kernels.disparity_px().abs().median())
    largest = disparity * parameters.disparity_tolerance
    possible = [f for f in REDUCTIONS if f * parameters.disparity_px <= largest]
    smallest_side = min(problem.shape)
    return next((f for f in possible if smallest_side // f >= parameters.min_size_px), 1)


def search_scales(problem: FitProblem, parameters: SearchParameters, sides: Sides) -> Tensor:
    """Evenly spaced scales to try, back to front; 0 among them if the scene has both sides."""
    largest, views = parameters.largest_scale, problem.views
    nearest = -largest if sides == "both" else parameters.smallest_scale
    count = parameters.signed_scales if sides == "both" else parameters.scales
    return torch.linspace(largest, nearest, count, device=views.device, dtype=views.dtype)


def search_cost_volume(
    coarse: FitProblem, scales: Tensor, parameters: CostVolumeParameters, correct_bias: bool
) -> Generator[None, None, CostVolume]:
    """Cost volume of a reduced problem; yields after each scale."""
    pitch = (float(coarse.pixel_pitch[0]), float(coarse.pixel_pitch[1]))
    return compute_cost_volume(
        coarse.views, coarse.kernels, coarse.layout, scales, pitch, parameters, correct_bias
    )


def deconvolution_scales(defocus_map: Tensor, step: float) -> Tensor:
    """Multiples of ``step`` around the values of a map, back to front."""
    first = math.ceil(float(defocus_map.max()) / step)
    last = min(math.floor(float(defocus_map.min()) / step), first - 1)
    whole = torch.arange(first, last - 1, -1, device=defocus_map.device, dtype=defocus_map.dtype)
    return whole * step


def propagated(
    volume: CostVolume, parameters: Parameters, smoothness: float, use_costs: bool = True
) -> Generator[Tensor, None, DefocusSearch]:
    """Local estimates, then propagation; yields the map after each round."""
    estimate = local_estimate(volume, parameters.local_estimate)
    if not use_costs:
        middle = torch.full_like(estimate.centre, float(volume.scales.mean()))
        estimate = Estimate(middle, torch.ones_like(estimate.weight))
    values = estimate.centre
    rounds = propagate(
        estimate, volume.guide, parameters.propagation, parameters.solver, smoothness
    )
    for values in rounds:
        yield values
    return DefocusSearch(estimate, values)


def with_sharp_edges(
    search: DefocusSearch, sharp: Tensor, parameters: Parameters, smoothness: float
) -> Generator[Tensor, None, DefocusSearch]:
    """Spread the estimates again up to the edges of a sharp image (C, h, w) of any size.

    In the captured views an edge is as wide as its blur, so the position of a step of the map is
    uncertain; in a first all-in-focus image it is exact. The map that is returned has the
    resolution of that image and follows its edges, but not its ringing: a median straightens them.
    """
    height, width = search.defocus_map.shape
    fine_guide = sharp.mean(0).clamp_min(0)
    guide = area_resample(fine_guide, (height, width))
    values = search.defocus_map
    rounds = propagate(
        search.estimate, guide, parameters.propagation, parameters.solver, smoothness
    )
    for values in rounds:
        yield values
    edges = parameters.map_edges
    guided = GuidedFilter(fine_guide, edges.guided_radius_px, edges.guided_epsilon)
    check_cancelled()
    fine = resample(values, (fine_guide.shape[-2], fine_guide.shape[-1]))
    aligned = voted_median(fine, guided, edges.median_bins)
    return replace(search, defocus_map=_with_straight_edges(aligned, edges))


def _with_straight_edges(defocus_map: Tensor, parameters: MapEdgeParameters) -> Tensor:
    """The map (h, w) with straight edges; what lies between them hardly changes."""
    mean = partial(box_mean, radius=(parameters.straight_radius_px,) * 2)
    return voted_median(defocus_map, lambda votes: mean(mean(votes)), parameters.median_bins)


def automatic_range(
    defocus_map: Tensor, parameters: SearchParameters, sides: Sides
) -> tuple[float, float]:
    """Back and front scale that hold the map, without its rarest values."""
    ordered = defocus_map.flatten().sort().values
    tail = int(parameters.range_tail * (len(ordered) - 1))
    front, back = float(ordered[tail]), float(ordered[-1 - tail])
    missing = max(parameters.min_range - (back - front), 0.0) / 2
    front -= missing
    if sides == "behind":
        front = max(front, parameters.front_limit)
    return max(back + missing, front + parameters.min_range), front


def on_grid_of(problem: FitProblem, values: Tensor) -> Tensor:
    """A map of the search (h, w) on the grid of the problem's views."""
    return resample(values, (problem.views.shape[-2], problem.views.shape[-1]))
