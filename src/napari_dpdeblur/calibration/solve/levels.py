"""Estimate how the levels of the discs differ from those of the white and the black screen.

A white frame that is brighter than the discs, ambient light and veiling glare turn the normalised
view k * M into gain (k * M) + offset. Kernels whose sum is 1 would explain that by wide tails.
Here, kernels of any sum are solved for with the mean of the views left out: their sum is the gain,
and what the mean lacks is the offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.calibration.solve.kernel_problem import (
    STEP_MARGIN,
    KernelProblem,
    laplacian,
)
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.solve.tile_observations import TargetObservations, TileObservations
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.optics import TileLayout

MAX_TILES = 12  # the levels are those of the whole capture, so a sample is enough
ITERATIONS = 80
POWER_ITERATIONS = 12
# Smaller deviations are within the accuracy of the estimate and left alone.
LEAST_GAIN_ERROR, LEAST_OFFSET = 0.006, 0.003
# Larger ones have another cause, or are too large to trust what is left after a correction.
MAX_GAIN_ERROR, MAX_OFFSET = 0.15, 0.06
RIM_PX = 2
MAX_RIM_SHARE = 0.02  # of a kernel: more means that it is cut off, and its sum says nothing


@dataclass(frozen=True)
class Levels:
    """``gain``: white of the discs in units of the white screen; ``offset``: light of their black.

    Both are shares of white; 1 and 0 if the captures agree.
    """

    gain: float = 1.0
    offset: float = 0.0

    @property
    def is_noticeable(self) -> bool:
        """Whether the levels differ by more than the accuracy of the estimate."""
        return abs(self.gain - 1) > LEAST_GAIN_ERROR or abs(self.offset) > LEAST_OFFSET

    @property
    def is_correctable(self) -> bool:
        """Whether the difference is small enough to be corrected."""
        return abs(self.gain - 1) <= MAX_GAIN_ERROR and abs(self.offset) <= MAX_OFFSET

    def corrected(self, observations: TargetObservations) -> TargetObservations:
        """The observations on the scale of the white and the black screen."""
        if not (self.is_noticeable and self.is_correctable):
            return observations
        views = (observations.views - np.float32(self.offset)) / np.float32(self.gain)
        return replace(observations, views=views)

    def notes(self) -> list[str]:
        """A sentence on the likely cause, if there is anything to correct."""
        if not self.is_noticeable:
            return []
        lost = 1 - self.gain
        end = "this was corrected." if self.is_correctable else "this is too much to be corrected."
        has_gain, has_offset = abs(lost) > 2 * LEAST_GAIN_ERROR, abs(self.offset) > LEAST_OFFSET
        if has_gain and has_offset and self.offset > 0 and lost > 0:
            return [
                f"About {100 * lost:.1f} % of the light is spread over the whole image, as by "
                f"glare in the lens or by a white screen that is brighter than the discs together "
                f"with ambient light; {end}"
            ]
        if has_offset and abs(self.offset) > abs(lost):
            word = "more" if self.offset > 0 else "less"
            return [
                f"The discs were captured with {100 * abs(self.offset):.1f} % of white {word} "
                f"ambient light than the black and the white screen; {end}"
            ]
        word = "brighter" if lost > 0 else "darker"
        share = f"{100 * abs(lost):.1f} %"
        return [f"The white screen was {share} {word} than the white of the discs; {end}"]


def estimate_levels(observations: TargetObservations, settings: SolveSettings) -> Levels:
    """The levels of the views, from a sample of the tiles; (1, 0) if the kernels are cut off."""
    height, width = observations.valid.shape
    layout = TileLayout.regular(height, width, settings.rows, settings.cols)
    tiles = TileObservations.of(observations, layout, settings)
    todo = np.flatnonzero(tiles.solvable)
    if len(todo) == 0:
        return Levels()
    sample = todo[np.linspace(0, len(todo) - 1, min(MAX_TILES, len(todo))).round().astype(int)]
    with torch.no_grad():
        kernels, offset = _solve(KernelProblem.of(tiles, sample, settings))
    mass = kernels.sum((-2, -1))
    inner = kernels[..., RIM_PX:-RIM_PX, RIM_PX:-RIM_PX].sum((-2, -1))
    if float((1 - inner / mass.clamp_min(1e-6)).median()) > MAX_RIM_SHARE:
        return Levels()
    return Levels(float(mass.median()), float(offset.median()))


def _solve(problem: KernelProblem) -> tuple[Tensor, Tensor]:
    """Kernels (B, 2, K, K) of any sum, by accelerated projected gradient, and offsets (B, 2)."""
    step = 1 / (_curvature(problem) + 8 * problem.smoothness)
    kernels = ahead = problem.start
    momentum = 1.0
    for _ in range(ITERATIONS):
        check_cancelled()
        moved = (ahead - step * _gradient(problem, ahead)).clamp_min(0)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + (momentum - 1) / following * (moved - kernels)
        kernels, momentum = moved, following
    return kernels, _mean(problem, problem.views - problem.model(kernels))[..., 0, 0]


def _gradient(problem: KernelProblem, kernels: Tensor) -> Tensor:
    misfit = _without_mean(problem, problem.model(kernels) - problem.views)
    data = problem.correlate(problem.weight * misfit) / problem.views[0, 0].numel()
    return data + problem.smoothness * laplacian(kernels) + problem.penalty


def _curvature(problem: KernelProblem) -> Tensor:
    """Largest eigenvalue of the data term per pixel; sums of kernels may change here."""
    vector = torch.ones_like(problem.start)
    value = torch.ones(())
    for _ in range(POWER_ITERATIONS):
        vector = vector / vector.norm(dim=(-2, -1), keepdim=True)
        seen = problem.weight * _without_mean(problem, problem.model(vector))
        image = problem.correlate(seen) / problem.views[0, 0].numel()
        value = (image * vector).sum((-2, -1), keepdim=True)
        vector = image
    return STEP_MARGIN * value


def _without_mean(problem: KernelProblem, views: Tensor) -> Tensor:
    return views - _mean(problem, views)


def _mean(problem: KernelProblem, views: Tensor) -> Tensor:
    """Weighted mean (B, 2, 1, 1) over the usable pixels."""
    weight = problem.weight
    total = weight.sum((-2, -1), keepdim=True).clamp_min(1e-12)
    return (weight * views).sum((-2, -1), keepdim=True) / total
