"""The published objective: one pure, differentiable function per term.

The functions return unweighted terms; :func:`evaluate` weights them. Where the text leaves
something open, the conventions of the published results hold: terms are means over pixels,
channels and views; the smoothness of alphas is a mean over layers too; Charbonnier values have 1
subtracted; edge masks and per-layer weights are constants for the gradient. Equation numbers are
those of the main text; "S" marks the supplement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.parameters.paper import LossParameters
from napari_dpdeblur.optics import TiledBlur
from napari_dpdeblur.optics.mpi import visibility


class LossTerms(dict[str, Tensor]):
    """Weighted terms of the objective by name, scalars."""

    @property
    def total(self) -> Tensor:
        """The value that the fit minimises."""
        return torch.stack(list(self.values())).sum()

    def as_dict(self) -> dict[str, float]:
        """Plain numbers with their total; FitError when one is not finite."""
        values = {name: float(term.detach()) for name, term in self.items()}
        for name, value in values.items():
            if not math.isfinite(value):
                raise FitError(
                    f"The loss term '{name}' became {value}; check the capture for NaN, and the "
                    "weights if you changed them."
                )
        return {"total": math.fsum(values.values()), **values}


def charbonnier(square: Tensor, scale: float, bias: Tensor | float = 0.0) -> Tensor:
    """sqrt((x^2 - B) / gamma^2 + 1) - 1, of x^2 = ``square`` (text before Eq. 7)."""
    return ((square - bias) / scale**2 + 1).sqrt() - 1


def local_variance(image: Tensor) -> Tensor:
    """TV^2 (S, Sec. 3.3): Gaussian-weighted variance in 3 x 3 windows of (..., H, W).

    Borders are edge-replicated. The window is separable, so the variance is the mean of the
    variances along rows plus the variance of the means. Built from differences, it is never
    negative and exactly 0 where the image is constant, unlike E[x^2] - E[x]^2.
    """
    mean_of_variances = _line_mean(_line_variance(image).mT).mT
    return mean_of_variances + _line_variance(_line_mean(image).mT).mT


def _neighbour_differences(lines: Tensor) -> tuple[Tensor, Tensor]:
    """x_i - x_{i-1} and x_{i+1} - x_i, which are 0 at the ends (edge replication)."""
    padded = torch.nn.functional.pad(lines.diff(dim=-1), (1, 1))
    return padded[..., :-1], padded[..., 1:]


def _line_mean(lines: Tensor) -> Tensor:
    """Mean of three neighbours with weights 1/4, 1/2, 1/4."""
    before, after = _neighbour_differences(lines)
    return lines + (after - before) / 4


def _line_variance(lines: Tensor) -> Tensor:
    """Variance of three neighbours with weights 1/4, 1/2, 1/4."""
    before, after = _neighbour_differences(lines)
    return (3 * (before.square() + after.square()) + 2 * before * after) / 16


def total_variation(image: Tensor, intensity_scale: float) -> Tensor:
    """TV^2 of ``intensity_scale`` x image (..., C, H, W), mean of the channels: (..., H, W)."""
    return local_variance(image).mean(dim=-3) * intensity_scale**2


def smooth_region(variation: Tensor, edge_scale: float) -> Tensor:
    """1 - E = exp(-TV^2 / (2 beta^2)) (S, Sec. 3.3), a constant for the gradient."""
    return torch.exp(variation.detach() / (-2 * edge_scale**2))


def data(
    rendered: Tensor,
    views: Tensor,
    rendered_bias: Tensor,
    intensity_scale: float,
    parameters: LossParameters,
) -> Tensor:
    """Bias-corrected data loss (Eq. 7).

    ``rendered`` and ``views`` (V, C, H, W); ``rendered_bias`` (V, 1, H, W) is B_all (Eq. 8).
    """
    square = (rendered - views).square()
    error = charbonnier(square, parameters.charbonnier_scale, rendered_bias)
    return intensity_scale * error.mean()


def auxiliary(
    blurred_color: Tensor,
    blurred_transmittance: Tensor,
    views: Tensor,
    bias: Tensor,
    intensity_scale: float,
    parameters: LossParameters,
) -> Tensor:
    """Auxiliary data loss (Eq. 9): every layer alone has to explain what it shows.

    ``blurred_color`` (L, V, C, H, W), ``views`` (V, C, H, W), ``bias`` (L,).
    ``blurred_transmittance`` (L, V, 1, H, W) is that of the renderer, (k_i * alpha_i)
    prod_{j>i} (1 - k_j * alpha_j), a constant for the gradient.
    """
    square = (blurred_color - views).square()
    error = charbonnier(square, parameters.charbonnier_scale, bias[:, None, None, None, None])
    weighted = blurred_transmittance.detach() * error
    return intensity_scale * weighted.sum(0).mean()


def intensity_smoothness(
    all_in_focus: Tensor,
    color: Tensor,
    transmittance: Tensor,
    intensity_scale: float,
    parameters: LossParameters,
) -> Tensor:
    """Edge-aware smoothness of the composite (C, H, W) and of the layers (L, C, H, W) (Eq. 10-11).

    As in the published results the layers enter as transmittance x charbonnier(TV(colour)),
    summed over the layers, and their common edge mask belongs to the TV that has this sum as its
    Charbonnier value. The transmittance (L, 1, H, W) is a constant for the gradient.
    """
    scale, edge_scale = parameters.charbonnier_scale, parameters.edge_scale
    composite = total_variation(all_in_focus, intensity_scale)
    layers = charbonnier(total_variation(color, intensity_scale), scale)
    weighted = (transmittance[:, 0].detach() * layers).sum(0)
    joint = scale**2 * ((weighted + 1).square() - 1)
    smooth = charbonnier(composite, scale) * (1 + smooth_region(composite, edge_scale))
    return (smooth + weighted * (1 + smooth_region(joint, edge_scale))).mean()


def alpha_smoothness(
    alpha: Tensor,
    transmittance: Tensor,
    all_in_focus: Tensor,
    intensity_scale: float,
    parameters: LossParameters,
) -> Tensor:
    """Smoothness of the roots of alphas and transmittances (L, 1, H, W) off the edges (Eq. 12)."""
    variation = total_variation(all_in_focus, intensity_scale)
    weight = 1 + smooth_region(variation, parameters.edge_scale)
    roots = [safe_root(values, parameters.root_floor) for values in (alpha, transmittance)]
    rough = charbonnier(local_variance(torch.cat(roots, dim=1)), parameters.charbonnier_scale)
    return (rough.sum(1) * weight).mean()


def entropy(alpha: Tensor, transmittance: Tensor, parameters: LossParameters) -> Tensor:
    """Collision entropy of alphas, without the back layer, and of transmittances (Eq. 13)."""
    floor = parameters.root_floor
    return _collision_entropy(alpha[1:], floor) + _collision_entropy(transmittance, floor)


def _collision_entropy(values: Tensor, floor: float) -> Tensor:
    """Mean over pixels of -log(|x|_2^2 / |x|_1^2) across the layers of x = sqrt(values)."""
    if len(values) == 0:
        return values.new_zeros(())
    root = safe_root(values, floor)
    return (2 * root.sum(0).log() - root.square().sum(0).log()).mean()


def safe_root(values: Tensor, floor: float) -> Tensor:
    """Square root with a finite gradient at 0."""
    return values.clamp_min(floor).sqrt()


@dataclass(frozen=True)
class Rendering:
    """A multiplane image and its rendering: everything that a term may use."""

    color: Tensor  # (L, C, H, W)
    alpha: Tensor  # (L, 1, H, W)
    transmittance: Tensor  # (L, 1, H, W)
    all_in_focus: Tensor  # (C, H, W)
    blurred_color: Tensor  # (L, V, C, H, W)
    blurred_transmittance: Tensor  # (L, V, 1, H, W)
    rendered: Tensor  # (V, C, H, W)
    rendered_bias: Tensor  # (V, 1, H, W)
    views: Tensor  # (V, C, H, W)
    bias: Tensor  # (L,)
    intensity_scale: float
    parameters: LossParameters

    @classmethod
    def of(
        cls,
        color: Tensor,
        alpha: Tensor,
        views: Tensor,
        blur: TiledBlur,
        bias: Tensor,
        intensity_scale: float,
        parameters: LossParameters,
    ) -> Rendering:
        """Composite and render layers (Eq. 1, 2 and 8)."""
        channels = color.shape[1]
        blurred = blur(torch.cat([color * alpha, alpha, color], dim=1))
        premultiplied, blurred_color = blurred[:, :, :channels], blurred[:, :, channels + 1 :]
        blurred_alpha = blurred[:, :, channels : channels + 1]
        clear = visibility(blurred_alpha)
        shown = blurred_alpha * clear
        transmittance = alpha * visibility(alpha)
        return cls(
            color=color,
            alpha=alpha,
            transmittance=transmittance,
            all_in_focus=(transmittance * color).sum(0),
            blurred_color=blurred_color,
            blurred_transmittance=shown,
            rendered=(premultiplied * clear).sum(0),
            rendered_bias=(shown * bias[:, None, None, None, None]).sum(0),
            views=views,
            bias=bias,
            intensity_scale=intensity_scale,
            parameters=parameters,
        )


# The terms by the name of their weight in the settings.
TERMS: dict[str, Callable[[Rendering], Tensor]] = {
    "data": lambda r: data(r.rendered, r.views, r.rendered_bias, r.intensity_scale, r.parameters),
    "auxiliary": lambda r: auxiliary(
        r.blurred_color, r.blurred_transmittance, r.views, r.bias, r.intensity_scale, r.parameters
    ),
    "intensity": lambda r: intensity_smoothness(
        r.all_in_focus, r.color, r.transmittance, r.intensity_scale, r.parameters
    ),
    "alpha": lambda r: alpha_smoothness(
        r.alpha, r.transmittance, r.all_in_focus, r.intensity_scale, r.parameters
    ),
    "entropy": lambda r: entropy(r.alpha, r.transmittance, r.parameters),
}


def evaluate(rendering: Rendering, weights: Mapping[str, float]) -> LossTerms:
    """All terms by plain automatic differentiation.

    The readable definition that the fast
    :class:`~napari_dpdeblur.fitting.paper.objective.Objective` is tested against.
    """
    return LossTerms({name: weights[name] * term(rendering) for name, term in TERMS.items()})
