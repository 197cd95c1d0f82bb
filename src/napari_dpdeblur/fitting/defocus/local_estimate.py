"""The defocus map: a parabola per pixel, then edge-aware propagation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.fitting.defocus.cost_volume import Evidence
from napari_dpdeblur.fitting.defocus.grid_solver import GridSystem, solve
from napari_dpdeblur.fitting.image.filters import box_mean, squared_slopes

SMOOTHNESS = 3e4  # pull of a neighbour, in units of one estimate's weight
EDGE_CONTRAST = 30.0  # how fast an intensity step (mean 0.5) cuts the pull
EDGE_FLOOR = 1e-3
SMOOTH_STEP = 0.02  # defocus step from which on neighbours may differ freely
TRUSTED_ERROR = 0.08  # distance from which on an estimate counts as an outlier
MAX_WEIGHT = 1e4
ROUNDS = 5
CONFIDENT_WEIGHT = 100.0  # weight of an estimate with a confidence of one half
FLAT_COST = 1e-12
SLOPE_RADIUS = (2, 2)  # neighbourhood whose slopes count as a pixel's own
TELLING_SHARE = 0.1  # of the energy of its slopes that must run along the disparity


@dataclass(frozen=True)
class Estimate:
    """Independent estimate of each pixel: ``centre`` and ``weight`` (H, W)."""

    centre: Tensor
    weight: Tensor

    @property
    def confidence(self) -> Tensor:
        """0 where the pixel says nothing about its defocus, near 1 where it says it clearly."""
        return self.weight / (self.weight + CONFIDENT_WEIGHT)


def local_estimate(evidence: Evidence) -> Estimate:
    """Parabola through the smallest cost of each pixel and its two neighbours.

    The weight is the curvature in units of the smallest cost itself: noise, texture and errors of
    the kernels scale both, so the ratio tells how sharp the minimum is. Lines along the disparity
    show none of it; what they seem to say is the error of the kernels, and counts little.
    """
    cost, step = evidence.cost, evidence.step
    middle = cost.argmin(0, keepdim=True).clamp(1, len(cost) - 2)
    before, here, after = (cost.gather(0, middle + i)[0] for i in (-1, 0, 1))
    floor = cost.amin(0).clamp_min(FLAT_COST)
    curvature = (before + after - 2 * here).clamp_min(FLAT_COST)
    offset = (0.5 * (before - after) / curvature).clamp(-1, 1)
    centre = evidence.scales[0] - (middle[0] + offset) * step
    weight = (curvature / floor / step**2).clamp(0, MAX_WEIGHT)
    return Estimate(centre, weight * _telling(evidence.guide))


def _telling(picture: Tensor) -> Tensor:
    """1 where enough of the slopes of a picture (h, w) run along the disparity, less elsewhere."""
    across, along = (box_mean(energy, SLOPE_RADIUS) for energy in squared_slopes(picture))
    share = along / (along + across).clamp_min(FLAT_COST)
    return (share / TELLING_SHARE).clamp_max(1).square()


def propagate(
    estimate: Estimate,
    guide: Tensor,
    smoothness: float = 1.0,
    start: Tensor | None = None,
    rounds: int = ROUNDS,
) -> Iterator[Tensor]:
    """Spread estimates to pixels that have none, up to the edges of ``guide``; yield each round.

    Re-weighted least squares: neighbours pull each other less across edges of the picture and
    across steps of the map, estimates far from the map lose weight.
    """
    stiff_x = SMOOTHNESS * smoothness * _edge_weight(guide[:, 1:] - guide[:, :-1])
    stiff_y = SMOOTHNESS * smoothness * _edge_weight(guide[1:] - guide[:-1])
    centre, weight = estimate.centre, estimate.weight
    values = start
    for _ in range(rounds):
        if values is None:
            system = GridSystem(weight, stiff_x, stiff_y)
            values = centre
        else:
            trusted = weight / (1 + ((values - centre) / TRUSTED_ERROR).square()).sqrt()
            along_x = stiff_x * _step_weight(values[:, 1:] - values[:, :-1])
            along_y = stiff_y * _step_weight(values[1:] - values[:-1])
            system = GridSystem(trusted, along_x, along_y)
        values = solve(system, system.weight * centre, values)
        yield values


def _edge_weight(difference: Tensor) -> Tensor:
    return torch.exp(-EDGE_CONTRAST * difference.abs()) + EDGE_FLOOR


def _step_weight(difference: Tensor) -> Tensor:
    return SMOOTH_STEP / (difference.square() + SMOOTH_STEP**2).sqrt()
