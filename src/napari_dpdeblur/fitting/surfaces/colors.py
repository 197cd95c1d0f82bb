"""Colours of the layers: least squares through the renderer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.conjugate_gradients import conjugate_gradients
from napari_dpdeblur.fitting.parameters.report import LayerColorParameters
from napari_dpdeblur.fitting.report.gain import gain_field
from napari_dpdeblur.fitting.surfaces.renderer import SurfaceRenderer
from napari_dpdeblur.fitting.surfaces.smoothness import SmoothnessWeights


@dataclass(frozen=True)
class Observation:
    """Views (V, C, h, w) to explain: their noise, and where they are clipped.

    A clipped pixel only says that the scene is at least as bright.
    """

    views: Tensor
    sigma: Tensor
    is_clipped: Tensor

    def errors(self, rendered: Tensor) -> Tensor:
        """Rendered minus captured views; 0 where a clipped pixel is rendered brighter."""
        error = rendered - self.views
        return torch.where(self.is_clipped & (error > 0), torch.zeros_like(error), error)

    def weight(self) -> Tensor:
        """1 / sigma^2, with a mean of 1."""
        inverse = 1 / self.sigma.square()
        return inverse / inverse.mean()

    def variance(self) -> float:
        """Variance of the noise where the weight is 1."""
        return float(1 / self.sigma.square().reciprocal().mean())


@dataclass(frozen=True)
class LayerColors:
    """Colours (L, C, h, w), the gain of each view (V, 1, h, w), and the views they explain.

    ``error`` is the mean square of what they do not explain.
    """

    color: Tensor
    gain: Tensor
    rendered: Tensor
    error: float


def solve_colors(
    renderer: SurfaceRenderer,
    observed: Observation,
    start: Tensor,
    pixel_pitch: tuple[int, int],
    parameters: LayerColorParameters,
) -> Iterator[LayerColors]:
    """Colours that explain the views, from ``start`` (L, C, h, w); yields after each step.

    The gain is estimated before and after the steps; the last result has both.
    """
    weight = observed.weight()
    rendered = renderer.render(start)
    gain = gain_field(rendered, observed.views, weight, parameters)
    error = observed.errors(gain * rendered)
    colors = LayerColors(start, gain, gain * rendered, _mean_square(error))
    strength, pull = _smoothness(observed, parameters), parameters.ridge
    smooth = [SmoothnessWeights(c, strength, pixel_pitch, parameters.free_step) for c in start]
    seen = torch.where(error == 0, 0.0, 1.0) * weight
    moved = error

    def matrix(change: Tensor) -> Tensor:
        nonlocal moved
        moved = gain * renderer.render(change)
        return renderer.adjoint(gain * seen * moved) + pull * change + _roughness(smooth, change)

    # Noise depends on intensity, so the weight of the data varies more than anything else.
    data = parameters.data_diagonal * seen.mean((0, 1))
    diagonal = torch.stack([s.diagonal() for s in smooth]) + (data + pull)
    residual = -renderer.adjoint(gain * seen * error) - _roughness(smooth, start)
    descent = conjugate_gradients(matrix, lambda v: v / diagonal, torch.zeros_like(start), residual)
    for change, _, length in islice(descent, parameters.steps):
        error = error + length * moved
        color = (start + change).clamp_min(0)
        colors = replace(colors, color=color, error=_mean_square(error))
        yield colors
    rendered = renderer.render(colors.color)
    gain = gain_field(rendered, observed.views, weight, parameters)
    error = observed.errors(gain * rendered)
    yield LayerColors(colors.color, gain, gain * rendered, _mean_square(error))


def _smoothness(observed: Observation, parameters: LayerColorParameters) -> float:
    """Weight of total variation: that of data with much noise is larger, as it would fit noise."""
    return parameters.smoothness * max(observed.variance() / parameters.usual_noise**2, 1.0)


def _mean_square(error: Tensor) -> float:
    return float(error.square().mean())


def _roughness(smooth: list[SmoothnessWeights], color: Tensor) -> Tensor:
    return torch.stack([s.gradient(layer) for s, layer in zip(smooth, color, strict=True)])
