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
from napari_dpdeblur.fitting.parameters.paper import PaperParameters


@dataclass(frozen=True)
class Schedule:
    """Adam steps with a learning rate that falls exponentially."""

    steps: int
    parameters: PaperParameters

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        first, last = self.parameters.first_rate, self.parameters.last_rate
        return first * math.pow(last / first, step / self.steps)


@dataclass
class Adam:
    """Logits of one tensor of unknowns with their running moments; changed in place."""

    logits: Tensor
    mean: Tensor
    square: Tensor

    @classmethod
    def at(cls, logits: Tensor) -> Adam:
        """Start with zero moments."""
        return cls(logits, torch.zeros_like(logits), torch.zeros_like(logits))

    @torch.no_grad()
    def descend(self, gradient: Tensor, step: int, schedule: Schedule) -> None:
        """One step, counted from 0, layer by layer to stay within the cache."""
        parameters, rate = schedule.parameters, schedule.rate(step)
        first, second = parameters.mean_decay, parameters.square_decay
        rate /= 1 - first ** (step + 1)
        correction = 1 / math.sqrt(1 - second ** (step + 1))
        parts = (self.logits, self.mean, self.square, gradient)
        for logits, mean, square, slope in zip(*parts, strict=True):
            mean.mul_(first).add_(slope, alpha=1 - first)
            square.mul_(second).addcmul_(slope, slope, value=1 - second)
            size = square.sqrt().mul_(correction).add_(parameters.step_floor)
            logits.addcdiv_(mean, size, value=-rate)
            check_cancelled()


@dataclass
class PaperState:
    """Everything needed to continue after ``step`` steps; save it to resume."""

    color: Adam  # logits (L, C, H, W)
    alpha: Adam  # logits (L, 1, H, W); the back layer's are not used, it is opaque
    step: int = 0

    @classmethod
    def uniform(cls, views: Tensor, layers: int, parameters: PaperParameters) -> PaperState:
        """Colour = mean of the views (V, C, H, W), alpha_i = 1 / i from the back.

        These alphas give every layer the same transmittance.
        """
        margin = parameters.start_margin
        mean = views.mean(dim=(0, 2, 3)).clamp(margin, 1 - margin)
        height, width = views.shape[-2:]
        color = torch.logit(mean)[None, :, None, None].repeat(layers, 1, height, width)
        alpha = views.new_zeros(layers, 1, height, width)
        for i in range(1, layers):
            alpha[i] = -math.log(i)  # logit of 1 / (i + 1)
        return cls(Adam.at(color), Adam.at(alpha.add_(_start_noise(alpha, parameters.start_noise))))

    def layers(self) -> tuple[Tensor, Tensor]:
        """Color (L, C, H, W) and alpha (L, 1, H, W) of the multiplane image."""
        return self.color.logits.sigmoid(), opaque_behind(self.alpha.logits.sigmoid())


def _start_noise(like: Tensor, deviation: float) -> Tensor:
    """The same noise on every device: squares of the pixel's index modulo an irrational number.

    Rounding errors of the published code (variances as E[x^2] - E[x]^2) separate the pixels of
    flat areas after the first step; ours are exact and would keep them equal. Noise of the same
    size takes their place: with it all terms of the first 50 steps are within 0.4 % of the
    published ones, without it the alpha term is 1.3 % too small. Invisible in float32.
    """
    index = torch.arange(like.numel(), device=like.device, dtype=like.dtype)
    uniform = index.square_().mul_(math.sqrt(2)).frac_().sub_(0.5)
    return uniform.mul_(deviation * math.sqrt(12)).reshape(like.shape)


def descend(
    objective: Objective,
    state: PaperState,
    schedule: Schedule,
) -> Iterator[LossTerms]:
    """Run the schedule from ``state``, which each step changes; yield the terms before each step.

    It can be stopped after any step and called again with the same state. A step that is
    cancelled leaves the state unusable.
    """
    while state.step < schedule.steps:
        terms, color_gradient, alpha_gradient = objective.loss_and_gradient(
            state.color.logits, state.alpha.logits
        )
        state.color.descend(color_gradient, state.step, schedule)
        state.alpha.descend(alpha_gradient, state.step, schedule)
        state.step += 1
        yield terms
