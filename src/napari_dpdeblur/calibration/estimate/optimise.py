"""Optimise the parameters of a pupil on the evidence of captures, on the scales that occur."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.evidence import Evidence
from napari_dpdeblur.calibration.estimate.pupil import pupil_grid, pupil_light, unit_disparity
from napari_dpdeblur.calibration.estimate.settings import LensParameters
from napari_dpdeblur.cancellation import check_cancelled

STEP_FLOOR = 1e-8  # epsilon of Adam


@dataclass(frozen=True, eq=False)
class LensProblem:
    """What a pupil must explain: evidence of captures on tiles at ``field`` (P, 2).

    ``radius_px`` is the radius of the blur at scale 1 in px of the estimate; None: it follows from
    ``disparity_px``, the mean disparity at scale 1. ``prior`` and ``spread`` are mean and standard
    deviation of the parameters. ``reference`` are those of a lens to compare with, by default the
    prior.
    """

    evidence: Sequence[Evidence]
    field: Tensor
    prior: Tensor
    spread: Tensor
    radius_px: float | None
    disparity_px: float
    scales: Sequence[float]
    parameters: LensParameters
    reference: Tensor | None = None

    def light(self, values: Tensor) -> Tensor:
        """The pupils of all tiles (P, 2, n, n)."""
        grid = pupil_grid()
        return pupil_light(values, self.field, grid, grid)

    def radius(self, light: Tensor) -> Tensor:
        """Radius of the blur at scale 1 in px of the estimate: a scalar."""
        if self.radius_px is not None:
            return light.new_tensor(self.radius_px)
        return self.disparity_px / unit_disparity(light).mean()

    def loss(
        self, values: Tensor, windows: Sequence[tuple[int, Tensor]], is_plain: bool = False
    ) -> Tensor:
        """Mean soft minimum of the logarithmic cost over the tiles of some captures.

        Of the costs at the scales alone if ``is_plain``, else between them, too.
        """
        light = self.light(values)
        radius = self.radius(light).expand(len(light))
        total, weight = light.new_zeros(()), 0.0
        for number, kept in windows:
            part = self.evidence[number].select(kept)
            costs_of = part.log_costs if is_plain else part.between_scales
            costs = costs_of(light[part.tiles], radius[part.tiles], self.scales)
            total = total + (part.weight * part.soft_minimum(costs)).sum()
            weight += float(part.weight.sum())
            check_cancelled()
        return total / max(weight, 1e-9)

    def penalty(self, values: Tensor) -> Tensor:
        """How far the parameters are from the generic lens; counts less beside much evidence."""
        deviation = (values - self.prior) / self.spread
        return self.parameters.prior / max(len(self.evidence), 1) * deviation.square().sum()

    def windows(self, step: int) -> list[tuple[int, Tensor]]:
        """The captures and tiles that a step compares; all take turns in a fixed order."""
        count, pool = self._windows_at_once, self._pool
        if count >= len(pool):
            return _by_capture(pool)
        start = step * count
        chosen = [
            self._turn((start + i) // len(pool))[(start + i) % len(pool)] for i in range(count)
        ]
        return _by_capture([pool[i] for i in chosen])

    def all_windows(self) -> list[tuple[int, Tensor]]:
        """All captures and tiles."""
        return _by_capture(self._pool)

    def restricted(self, is_kept: Tensor) -> LensProblem:
        """The problem on some of the tiles (P,)."""
        parts = [one.select(is_kept[one.tiles].nonzero()[:, 0]) for one in self.evidence]
        return replace(self, evidence=parts)

    @cached_property
    def _pool(self) -> list[tuple[int, int]]:
        return [(n, tile) for n, one in enumerate(self.evidence) for tile in range(len(one.tiles))]

    @property
    def _windows_at_once(self) -> int:
        height, width = self.evidence[0].fft_px
        return max(self.parameters.window_pixels // (height * width), 4)

    def _turn(self, number: int) -> list[int]:
        """Order of the windows in one turn."""
        source = torch.Generator().manual_seed(number)
        return [int(i) for i in torch.randperm(len(self._pool), generator=source)]


def _by_capture(chosen: Sequence[tuple[int, int]]) -> list[tuple[int, Tensor]]:
    numbers = sorted({number for number, _ in chosen})
    return [
        (number, torch.tensor(sorted(tile for n, tile in chosen if n == number)))
        for number in numbers
    ]


@dataclass(frozen=True, eq=False)
class LensState:
    """State of the optimisation: parameters, moments of Adam, finished steps, last loss."""

    values: Tensor
    mean: Tensor
    square: Tensor
    step: int = 0
    loss: float = math.nan

    @classmethod
    def start(cls, values: Tensor) -> LensState:
        """The state before the first step."""
        return cls(values, torch.zeros_like(values), torch.zeros_like(values))


def optimise(problem: LensProblem, state: LensState, steps: int) -> Iterator[LensState]:
    """Steps of Adam with a falling rate, up to ``steps`` in all; yields the state after each."""
    parameters = problem.parameters
    while state.step < steps:
        values = state.values.clone().requires_grad_(True)
        is_plain = state.step < parameters.plain_share * steps
        loss = problem.loss(values, problem.windows(state.step), is_plain)
        (gradient,) = torch.autograd.grad(loss + problem.penalty(values), values)
        # in standard deviations, so that all parameters get equally far
        rate = _rate(state.step / steps, parameters) * problem.spread
        state = _moved(state, gradient, rate, parameters)
        state = replace(state, loss=float(loss.detach()))
        yield state


def _rate(finished: float, parameters: LensParameters) -> float:
    last = parameters.last_rate
    falling = 0.5 * (1 + math.cos(math.pi * finished))
    return parameters.learning_rate * (last + (1 - last) * falling)


def _moved(
    state: LensState, gradient: Tensor, rate: Tensor, parameters: LensParameters
) -> LensState:
    """One step of Adam (Kingma and Ba 2015)."""
    first, second = parameters.mean_decay, parameters.square_decay
    step = state.step + 1
    mean = first * state.mean + (1 - first) * gradient
    square = second * state.square + (1 - second) * gradient.square()
    slope = mean / (1 - first**step)
    scale = (square / (1 - second**step)).sqrt() + STEP_FLOOR
    return LensState(state.values - rate * slope / scale, mean, square, step)


def all_scales(parameters: LensParameters, farthest: float = math.inf) -> list[float]:
    """Scales on both sides of the focus plane, back to front, without 0.

    ``farthest`` is the scale of a very distant point, if that is known: none is larger.
    """
    smallest = parameters.largest_scale / parameters.scales
    sizes = torch.linspace(parameters.largest_scale, smallest, parameters.scales).tolist()
    return [*(size for size in sizes if size < farthest), *(-size for size in reversed(sizes))]


def occurring_scales(problem: LensProblem, values: Tensor) -> tuple[list[float], float]:
    """Scales on the sides that occur, and how much larger the scene's defocus is than expected.

    The second number multiplies the disparity at scale 1, so that the largest scales of the scene
    are as large as they should be.
    """
    parameters, scales = problem.parameters, problem.scales
    share = _shares(problem, values, scales)
    behind = sum(part for scale, part in zip(scales, share, strict=True) if scale > 0)
    sides = [behind >= parameters.least_share, 1 - behind >= parameters.least_share]
    kept = [s for s in scales if (s > 0 and sides[0]) or (s < 0 and sides[1])]
    return kept, _largest(scales, share) / parameters.typical_scale


def _shares(problem: LensProblem, values: Tensor, scales: Sequence[float]) -> list[float]:
    """Share of the evidence that prefers each scale."""
    with torch.no_grad():
        light = problem.light(values)
        radius = problem.radius(light).expand(len(light))
        counts = torch.zeros(len(scales))
        for one in problem.evidence:
            costs = one.log_costs(light[one.tiles], radius[one.tiles], scales)
            best = costs.argmin(0)
            counts += torch.stack([(one.weight * (best == i)).sum() for i in range(len(scales))])
    return [float(part) for part in counts / counts.sum().clamp_min(1e-9)]


def _largest(scales: Sequence[float], share: Sequence[float], tail: float = 0.03) -> float:
    """The defocus that all but a tail of the evidence stays below."""
    rest = 0.0
    ordered = sorted(zip(scales, share, strict=True), key=lambda pair: -abs(pair[0]))
    for scale, part in ordered:
        rest += part
        if rest > tail:
            return abs(scale)
    return abs(ordered[-1][0])
