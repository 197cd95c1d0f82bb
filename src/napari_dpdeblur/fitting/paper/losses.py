"""The objective of the paper: one pure, differentiable function per term.

The functions return unweighted terms; :func:`evaluate` weights them. Where the text leaves
something open, the conventions of the published results hold: terms are means over pixels,
channels and views; the smoothness of alphas is a mean over layers too; Charbonnier values have 1
subtracted; edge masks and per-layer weights are constants for the gradient. Equation numbers are
those of the main text; "S" marks the supplement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.optics import TiledBlur
from napari_dpdeblur.optics.mpi import visibility

CHARBONNIER_SCALE = 0.1  # gamma
EDGE_SCALE = 1 / 32  # beta, for images with a mean of 0.5
ROOT_FLOOR = 1e-12  # keeps roots and logarithms of alphas, and their gradients, finite


@dataclass(frozen=True)
class LossWeights:
    """lambda_1 to lambda_5 of the supplement; a term of weight 0 is not computed."""

    data: float = 2.5e4
    auxiliary: float = 2.5e4
    intensity_smoothness: float = 30.0
    alpha_smoothness: float = 7.5e4
    entropy: float = 30 / math.log(12)

    @classmethod
    def published(cls, layers: int) -> LossWeights:
        """The weights of the published results, whose entropy is in units of log N."""
        return cls(entropy=30 / math.log(max(layers, 2)))


@dataclass(frozen=True)
class LossTerms:
    """Weighted terms of the objective, scalars."""

    data: Tensor
    auxiliary: Tensor
    intensity_smoothness: Tensor
    alpha_smoothness: Tensor
    entropy: Tensor

    @property
    def total(self) -> Tensor:
        """The value that the fit minimises."""
        return torch.stack([getattr(self, term.name) for term in fields(self)]).sum()

    def as_dict(self) -> dict[str, float]:
        """Plain numbers, the total included; FitError when one is not finite."""
        values = {term.name: float(getattr(self, term.name).detach()) for term in fields(self)}
        for name, value in values.items():
            if not math.isfinite(value):
                raise FitError(
                    f"The loss term '{name}' became {value}; check the capture for NaN, and the "
                    "weights if you changed them."
                )
        return {"total": math.fsum(values.values()), **values}


def charbonnier(square: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    """sqrt((x^2 - B) / gamma^2 + 1) - 1, of x^2 = ``square`` (text before Eq. 7)."""
    return ((square - bias) / CHARBONNIER_SCALE**2 + 1).sqrt() - 1


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


def smooth_region(variation: Tensor) -> Tensor:
    """1 - E = exp(-TV^2 / (2 beta^2)) (S, Sec. 3.3), a constant for the gradient."""
    return torch.exp(variation.detach() / (-2 * EDGE_SCALE**2))


def data(rendered: Tensor, views: Tensor, rendered_bias: Tensor, intensity_scale: float) -> Tensor:
    """Bias-corrected data loss (Eq. 7).

    ``rendered`` and ``views`` (V, C, H, W); ``rendered_bias`` (V, 1, H, W) is B_all (Eq. 8).
    """
    return intensity_scale * charbonnier((rendered - views).square(), rendered_bias).mean()


def auxiliary(
    blurred_color: Tensor,
    blurred_transmittance: Tensor,
    views: Tensor,
    bias: Tensor,
    intensity_scale: float,
) -> Tensor:
    """Auxiliary data loss (Eq. 9): every layer alone has to explain what it shows.

    ``blurred_color`` (L, V, C, H, W), ``views`` (V, C, H, W), ``bias`` (L,).
    ``blurred_transmittance`` (L, V, 1, H, W) is that of the renderer, (k_i * alpha_i)
    prod_{j>i} (1 - k_j * alpha_j), a constant for the gradient.
    """
    error = charbonnier((blurred_color - views).square(), bias[:, None, None, None, None])
    weighted = blurred_transmittance.detach() * error
    return intensity_scale * weighted.sum(0).mean()


def intensity_smoothness(
    all_in_focus: Tensor, color: Tensor, transmittance: Tensor, intensity_scale: float
) -> Tensor:
    """Edge-aware smoothness of the composite (C, H, W) and of the layers (L, C, H, W) (Eq. 10-11).

    As in the published results the layers enter as transmittance x charbonnier(TV(colour)),
    summed over the layers, and their common edge mask belongs to the TV that has this sum as its
    Charbonnier value. The transmittance (L, 1, H, W) is a constant for the gradient.
    """
    composite = total_variation(all_in_focus, intensity_scale)
    layers = charbonnier(total_variation(color, intensity_scale))
    weighted = (transmittance[:, 0].detach() * layers).sum(0)
    joint = CHARBONNIER_SCALE**2 * ((weighted + 1).square() - 1)
    smooth = charbonnier(composite) * (1 + smooth_region(composite))
    return (smooth + weighted * (1 + smooth_region(joint))).mean()


def alpha_smoothness(
    alpha: Tensor, transmittance: Tensor, all_in_focus: Tensor, intensity_scale: float
) -> Tensor:
    """Smoothness of the roots of alphas and transmittances (L, 1, H, W) off the edges (Eq. 12)."""
    weight = 1 + smooth_region(total_variation(all_in_focus, intensity_scale))
    roots = torch.cat([safe_root(alpha), safe_root(transmittance)], dim=1)
    return (charbonnier(local_variance(roots)).sum(1) * weight).mean()


def entropy(alpha: Tensor, transmittance: Tensor) -> Tensor:
    """Collision entropy of alphas, without the back layer, and of transmittances (Eq. 13)."""
    return _collision_entropy(alpha[1:]) + _collision_entropy(transmittance)


def _collision_entropy(values: Tensor) -> Tensor:
    """Mean over pixels of -log(|x|_2^2 / |x|_1^2) across the layers of x = sqrt(values)."""
    if len(values) == 0:
        return values.new_zeros(())
    root = safe_root(values)
    return (2 * root.sum(0).log() - root.square().sum(0).log()).mean()


def safe_root(values: Tensor) -> Tensor:
    """Square root with a finite gradient at 0."""
    return values.clamp_min(ROOT_FLOOR).sqrt()


def evaluate(
    color: Tensor,
    alpha: Tensor,
    views: Tensor,
    blur: TiledBlur,
    bias: Tensor,
    intensity_scale: float,
    weights: LossWeights,
) -> LossTerms:
    """All terms of a multiplane image by plain automatic differentiation.

    The readable definition that the fast
    :class:`~napari_dpdeblur.fitting.paper.objective.Objective` is tested against:
    ``color`` (L, C, H, W), ``alpha`` (L, 1, H, W), ``views`` (V, C, H, W).
    """
    channels = color.shape[1]
    blurred = blur(torch.cat([color * alpha, alpha, color], dim=1))
    premultiplied, blurred_color = blurred[:, :, :channels], blurred[:, :, channels + 1 :]
    blurred_alpha = blurred[:, :, channels : channels + 1]
    clear = visibility(blurred_alpha)
    shown = blurred_alpha * clear
    rendered_bias = (shown * bias[:, None, None, None, None]).sum(0)
    transmittance = alpha * visibility(alpha)
    sharp = (transmittance * color).sum(0)
    scale = intensity_scale
    rendered = (premultiplied * clear).sum(0)
    return LossTerms(
        data=weights.data * data(rendered, views, rendered_bias, scale),
        auxiliary=weights.auxiliary * auxiliary(blurred_color, shown, views, bias, scale),
        intensity_smoothness=weights.intensity_smoothness
        * intensity_smoothness(sharp, color, transmittance, scale),
        alpha_smoothness=weights.alpha_smoothness
        * alpha_smoothness(alpha, transmittance, sharp, scale),
        entropy=weights.entropy * entropy(alpha, transmittance),
    )
