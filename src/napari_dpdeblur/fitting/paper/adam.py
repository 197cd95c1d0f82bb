"""The published optimisation: Adam on logits from a uniform start."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.paper.losses import LossTerms
from napari_dpdeblur.fitting.paper.objective import Objective, opaque_behind

MOMENT_DECAYS = (0.9, 0.999)
STEP_FLOOR = 1e-8  # epsilon of Adam
# Rounding errors of the published code (variances as E[x^2] - E[x]^2) tell the pixels of flat
# areas apart after the first step; ours are exact and would keep them equal. Noise of the same
# size in the starting alphas takes its place: with it all terms of the first 50 steps are within
# 0.4 % of the published ones, without it the alpha term falls 1.3 % short. Invisible in float32.
START_NOISE = 3e-12


@dataclass(frozen=True)
class Schedule:
    """Learning rate that falls exponentially from ``first_rate`` to ``last_rate``."""

    steps: int = 10_000
    first_rate: float = 0.3
    last_rate: float = 0.1

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        return self.first_rate * math.pow(self.last_rate / self.first_rate, step / self.steps)


@dataclass
class Adam:
    """Logits of one tensor of unknowns with their running moments; changed in place."""

    logits: Tensor
    mean: Tensor
    square: Tensor

    @classmethod
    def at(cls, logits: Tensor) -> Adam:
        """Start from rest."""
        return cls(logits, torch.zeros_like(logits), torch.zeros_like(logits))

    @torch.no_grad()
    def descend(self, gradient: Tensor, rate: float, step: int) -> None:
        """One step, counted from 0, layer by layer to stay within the cache."""
        first, second = MOMENT_DECAYS
        rate /= 1 - first ** (step + 1)
        correction = 1 / math.sqrt(1 - second ** (step + 1))
        parts = (self.logits, self.mean, self.square, gradient)
        for logits, mean, square, slope in zip(*parts, strict=True):
            mean.mul_(first).add_(slope, alpha=1 - first)
            square.mul_(second).addcmul_(slope, slope, value=1 - second)
            logits.addcdiv_(mean, square.sqrt().mul_(correction).add_(STEP_FLOOR), value=-rate)
            check_cancelled()


@dataclass
class PaperState:
    """Everything needed to go on after ``step`` steps: save it to resume."""

    color: Adam  # logits (L, C, H, W)
    alpha: Adam  # logits (L, 1, H, W); the back layer's are not used, it is opaque
    step: int = 0

    @classmethod
    def uniform(cls, views: Tensor, layers: int) -> PaperState:
        """Colour = mean of the views (V, C, H, W), alpha_i = 1 / i from the back.

        These alphas give every layer the same transmittance.
        """
        mean = views.mean(dim=(0, 2, 3)).clamp(1e-6, 1 - 1e-6)
        height, width = views.shape[-2:]
        color = torch.logit(mean)[None, :, None, None].repeat(layers, 1, height, width)
        alpha = views.new_zeros(layers, 1, height, width)
        for i in range(1, layers):
            alpha[i] = -math.log(i)  # logit of 1 / (i + 1)
        return cls(Adam.at(color), Adam.at(alpha.add_(_start_noise(alpha))))

    def layers(self) -> tuple[Tensor, Tensor]:
        """Color (L, C, H, W) and alpha (L, 1, H, W) of the multiplane image."""
        return self.color.logits.sigmoid(), opaque_behind(self.alpha.logits.sigmoid())


def _start_noise(like: Tensor) -> Tensor:
    """The same noise on every device: squares of the pixel's index modulo an irrational number."""
    index = torch.arange(like.numel(), device=like.device, dtype=like.dtype)
    uniform = index.square_().mul_(math.sqrt(2)).frac_().sub_(0.5)
    return uniform.mul_(START_NOISE * math.sqrt(12)).reshape(like.shape)


def descend(
    objective: Objective,
    state: PaperState,
    schedule: Schedule,
) -> Iterator[LossTerms]:
    """Run the schedule from ``state``, which each step changes; yield the terms before each step.

    Stop whenever you like: calling it again with the same state goes on where it was. A ``check``
    that raises ends it within a step, and with it the use of the state.
    """
    while state.step < schedule.steps:
        terms, color_gradient, alpha_gradient = objective.loss_and_gradient(
            state.color.logits, state.alpha.logits
        )
        rate = schedule.rate(state.step)
        state.color.descend(color_gradient, rate, state.step)
        state.alpha.descend(alpha_gradient, rate, state.step)
        state.step += 1
        yield terms
