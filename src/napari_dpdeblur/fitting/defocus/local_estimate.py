"""Defocus map: a parabola per pixel, then edge-aware propagation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.fitting.defocus.cost_volume import CostVolume
from napari_dpdeblur.fitting.defocus.grid_solver import GridSystem, solve
from napari_dpdeblur.fitting.image.filters import box_mean, squared_slopes
from napari_dpdeblur.fitting.parameters.defocus import (
    LocalEstimateParameters,
    PropagationParameters,
    SolverParameters,
)

AGREEMENT_POWER = 4  # in noise a tenth of the estimates agree by chance: 0.001 of their weight


@dataclass(frozen=True)
class Estimate:
    """Independent estimate of each pixel: ``centre`` and ``weight`` (H, W)."""

    centre: Tensor
    weight: Tensor

    def confidence(self, parameters: LocalEstimateParameters) -> Tensor:
        """0 where a pixel holds no information about its defocus, near 1 where it is clear."""
        return self.weight / (self.weight + parameters.confident_weight)


def local_estimate(volume: CostVolume, parameters: LocalEstimateParameters) -> Estimate:
    """Parabola through the smallest cost of each pixel and its two neighbours.

    The weight is the curvature in units of the smallest cost itself: noise, texture and errors of
    the kernels scale both, so the ratio measures how sharp the minimum is. Lines along the
    disparity do not show it; their minimum comes from errors of the kernels and has little weight.
    Nor has that of noise, which is not much below the other costs.
    """
    cost, step, flat = volume.cost, volume.step, parameters.flat_cost
    middle = cost.argmin(0, keepdim=True).clamp(1, len(cost) - 2)
    before, here, after = (cost.gather(0, middle + i)[0] for i in (-1, 0, 1))
    floor = cost.amin(0).clamp_min(flat)
    curvature = (before + after - 2 * here).clamp_min(flat)
    offset = (0.5 * (before - after) / curvature).clamp(-1, 1)
    centre = volume.scales[0] - (middle[0] + offset) * step
    weight = (curvature / floor / step**2).clamp(0, parameters.max_weight)
    squared = ((cost.median(0).values - floor).clamp_min(0) / floor).square()
    is_prominent = squared / (squared + parameters.prominence**2)
    return Estimate(centre, weight * is_prominent * _informative(volume.guide, parameters))


def _informative(image: Tensor, parameters: LocalEstimateParameters) -> Tensor:
    """1 where enough of the gradients of an image (h, w) run along the disparity, else less."""
    radius = (parameters.slope_radius_px,) * 2
    across, along = (box_mean(energy, radius) for energy in squared_slopes(image))
    share = along / (along + across).clamp_min(parameters.flat_cost)
    return (share / parameters.min_slope_share).clamp_max(1).square()


def propagate(
    estimate: Estimate,
    guide: Tensor,
    parameters: PropagationParameters,
    solver: SolverParameters,
    smoothness: float = 1.0,
) -> Iterator[Tensor]:
    """Spread estimates to pixels that have none, up to the edges of ``guide``; yield each round.

    Re-weighted least squares: neighbours are coupled less across edges of the image and steps of
    the map, and estimates far from the map lose weight. So do those that their surroundings do
    not share: noise scatters estimates over all scales. ``smoothness`` multiplies the coupling.
    """
    coupling = parameters.smoothness * smoothness
    stiff_x = coupling * _edge_weight(guide[:, 1:] - guide[:, :-1], parameters)
    stiff_y = coupling * _edge_weight(guide[1:] - guide[:-1], parameters)
    estimate = replace(estimate, weight=estimate.weight * _shared(estimate, parameters))
    centre, weight = estimate.centre, estimate.weight
    first = weight * (1 - (1 - parameters.front_trust) * _is_in_front(centre, parameters))
    system, values = GridSystem(first, stiff_x, stiff_y), centre
    for number in range(parameters.rounds):
        if number > 0:
            trusted = weight * _trust(values, estimate, parameters)
            along_x = stiff_x * _step_weight(values[:, 1:] - values[:, :-1], parameters.free_step)
            along_y = stiff_y * _step_weight(values[1:] - values[:-1], parameters.free_step)
            system = GridSystem(trusted, along_x, along_y)
        values = solve(system, system.weight * centre, values, solver)
        yield values


def _shared(estimate: Estimate, parameters: PropagationParameters) -> Tensor:
    """1 where estimates agree with enough of those around (H, W), and almost 0 in noise."""
    position = estimate.centre / parameters.agreeing_step
    lowest, highest = math.floor(float(position.min())), math.ceil(float(position.max()))
    around = (parameters.agreeing_radius_px,) * 2
    agreeing = torch.zeros_like(position)
    for level in range(lowest, highest + 1):
        distance = (position - level).abs()
        counted = (2 - distance).clamp(0, 1)
        agreeing += (1 - distance).clamp_min(0) * box_mean(estimate.weight * counted, around)
    total = box_mean(estimate.weight, around)
    share = agreeing / total.clamp_min(torch.finfo(total.dtype).tiny)
    return (share / parameters.agreeing_share).clamp(0, 1) ** AGREEMENT_POWER


def _trust(values: Tensor, estimate: Estimate, parameters: PropagationParameters) -> Tensor:
    """Share of its weight that an estimate keeps, given the map of the round before.

    Outliers lose theirs. So do estimates in front of the focus plane that are nearer than the map,
    where others around support the map: the light of a blurred near object covers what lies
    around its outline, never the other way round. Without such support it is the map that is
    wrong, as inside a near object whose outline alone has texture.
    """
    nearer_by = values - estimate.centre
    usual = (1 + (nearer_by / parameters.outlier_distance).square()).rsqrt()
    is_nearer = (nearer_by / parameters.nearer_step - 1).clamp(0, 1)
    is_nearer = is_nearer * _is_in_front(estimate.centre, parameters)
    around = (parameters.support_radius_px,) * 2
    agreeing = box_mean(estimate.weight * usual**4 * (1 - is_nearer), around)
    opposing = box_mean(estimate.weight * is_nearer, around) * parameters.least_support
    supported = agreeing / (agreeing + opposing).clamp_min(torch.finfo(values.dtype).tiny)
    return usual * (1 - (1 - parameters.nearer_trust) * is_nearer * supported)


def _is_in_front(centre: Tensor, parameters: PropagationParameters) -> Tensor:
    return (-centre / parameters.nearer_step).clamp(0, 1)


def _edge_weight(difference: Tensor, parameters: PropagationParameters) -> Tensor:
    return torch.exp(-parameters.edge_contrast * difference.abs()) + parameters.edge_floor


def _step_weight(difference: Tensor, free_step: float) -> Tensor:
    return free_step / (difference.square() + free_step**2).sqrt()
