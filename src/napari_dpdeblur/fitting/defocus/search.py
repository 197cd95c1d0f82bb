"""Defocus search in closed form: from the two views to a defocus map and its confidence."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.defocus.cost_volume import CostVolume, compute_cost_volume
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, local_estimate, propagate
from napari_dpdeblur.fitting.image.filters import GuidedFilter, box_mean, voted_median
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.defocus import (
    CostVolumeParameters,
    MapEdgeParameters,
    SearchParameters,
)
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


def search_scales(problem: FitProblem, parameters: SearchParameters, count: int) -> Tensor:
    """Evenly spaced scales, from the largest blur to almost none."""
    views, (first, last) = problem.views, (parameters.largest_scale, parameters.smallest_scale)
    return torch.linspace(first, last, count, device=views.device, dtype=views.dtype)


def search_steps(parameters: SearchParameters) -> int:
    """How often :func:`checked_cost_volume` yields."""
    return parameters.scales + parameters.swap_scales


def checked_cost_volume(
    coarse: FitProblem, parameters: Parameters, correct_bias: bool, name: str
) -> Generator[None, None, CostVolume]:
    """Cost volume of a reduced problem whose views are not swapped; yields after each scale."""
    scales = search_scales(coarse, parameters.search, parameters.search.scales)
    volume = yield from _cost_volume(coarse, scales, parameters.cost_volume, correct_bias)
    yield from _check_not_swapped(coarse, volume, parameters, name)
    return volume


def _cost_volume(
    coarse: FitProblem, scales: Tensor, parameters: CostVolumeParameters, correct_bias: bool
) -> Generator[None, None, CostVolume]:
    pitch = (float(coarse.pixel_pitch[0]), float(coarse.pixel_pitch[1]))
    return compute_cost_volume(
        coarse.views, coarse.kernels, coarse.layout, scales, pitch, parameters, correct_bias
    )


def _check_not_swapped(
    coarse: FitProblem, volume: CostVolume, parameters: Parameters, name: str
) -> Generator[None, None, None]:
    """Raise FitError when the views agree better the other way round."""
    swapped = replace(coarse, views=coarse.views.flip(0))
    count = parameters.search.swap_scales
    last, parts = len(volume.scales) - 1, count - 1
    chosen = [round(last * i / parts) for i in range(count)]
    scales = volume.scales[chosen]
    other = yield from _cost_volume(swapped, scales, parameters.cost_volume, correct_bias=True)
    as_given = float(volume.cost[chosen].amin(0).mean())
    if float(other.cost.amin(0).mean()) < parameters.search.swapped_cost * as_given:
        raise FitError(
            f"The left and right view of {name} look swapped: they agree with the calibration "
            "only the other way round; swap the two files."
        )


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


def automatic_range(defocus_map: Tensor, parameters: SearchParameters) -> tuple[float, float]:
    """Back and front scale that hold the map, without its rarest values."""
    ordered = defocus_map.flatten().sort().values
    tail = int(parameters.range_tail * (len(ordered) - 1))
    front, back = float(ordered[tail]), float(ordered[-1 - tail])
    missing = max(parameters.min_range - (back - front), 0.0) / 2
    front = max(front - missing, parameters.front_limit)
    return max(back + missing, front + parameters.min_range), front


def on_grid_of(problem: FitProblem, values: Tensor) -> Tensor:
    """A map of the search (h, w) on the grid of the problem's views."""
    return resample(values, (problem.views.shape[-2], problem.views.shape[-1]))
