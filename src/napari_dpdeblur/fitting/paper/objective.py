"""Objective: value and gradient of the published objective in one pass, without autograd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.paper.losses import LossTerms
from napari_dpdeblur.fitting.paper.photometric import Photometric
from napari_dpdeblur.fitting.paper.regularisation import Regularisation
from napari_dpdeblur.fitting.parameters.paper import LossParameters
from napari_dpdeblur.optics import TiledBlur


class TermGradients(Protocol):
    """One or more terms with gradients written by hand."""

    def add_gradient(
        self, color: Tensor, alpha: Tensor, color_gradient: Tensor, alpha_gradient: Tensor
    ) -> dict[str, Tensor]:
        """Add to the gradients, shaped like color (L, C, H, W) and alpha (L, 1, H, W).

        Returns the weighted terms by name.
        """


class Objective:
    """What the fit minimises, for ``views`` (V, C, H, W) seen through ``blur``.

    The same function as :func:`~napari_dpdeblur.fitting.paper.losses.evaluate`, with the gradient
    written by hand: every layer is blurred once and nothing is kept that the gradient does
    not need. ``weights`` are those of the terms by name; terms of weight 0 are skipped. ``bias``
    (L,) is left out of the objective when it is None. The farthest layer is opaque: its alpha
    counts as 1 whatever is given. ``parts`` compute the terms.
    """

    parts: list[TermGradients]

    def __init__(
        self,
        views: Tensor,
        blur: TiledBlur,
        weights: Mapping[str, float],
        parameters: LossParameters,
        bias: Tensor | None = None,
        intensity_scale: float | None = None,
    ) -> None:
        scale = normalising_scale(views) if intensity_scale is None else intensity_scale
        self.intensity_scale = scale
        bias = views.new_zeros(len(blur)) if bias is None else bias.to(views)
        self.parts = [
            Photometric(views, blur, bias, weights, scale, parameters),
            Regularisation(weights, scale, parameters),
        ]

    @torch.no_grad()
    def loss_and_gradient(
        self, color_logits: Tensor, alpha_logits: Tensor
    ) -> tuple[LossTerms, Tensor, Tensor]:
        """Weighted terms and gradients to logits (L, C, H, W) and (L, 1, H, W)."""
        color, alpha = color_logits.sigmoid(), opaque_behind(alpha_logits.sigmoid())
        terms, color_gradient, alpha_gradient = self.layer_gradient(color, alpha)
        for gradient, value in ((color_gradient, color), (alpha_gradient, alpha)):
            for slope, layer in zip(gradient, value, strict=True):
                slope.mul_(layer).mul_(1 - layer)
                check_cancelled()
        return terms, color_gradient, alpha_gradient

    @torch.no_grad()
    def layer_gradient(self, color: Tensor, alpha: Tensor) -> tuple[LossTerms, Tensor, Tensor]:
        """Weighted terms and gradients to color (L, C, H, W) and alpha (L, 1, H, W) themselves."""
        color_gradient, alpha_gradient = torch.zeros_like(color), torch.zeros_like(alpha)
        gradients = (color_gradient, alpha_gradient)
        terms = LossTerms()
        for part in self.parts:
            terms.update(part.add_gradient(color, alpha, *gradients))
        alpha_gradient[0] = 0
        if not color.is_meta:
            terms.as_dict()  # raises where a term is not finite
        return terms, color_gradient, alpha_gradient


def opaque_behind(alpha: Tensor) -> Tensor:
    """Make the farthest of the layers (L, 1, H, W) opaque, in place."""
    alpha[0] = 1
    return alpha


def normalising_scale(views: Tensor) -> float:
    """The factor that brings the views to a mean of 0.5 (S, data normalization)."""
    mean = float(views.mean())
    if not 0 < mean < float("inf"):
        raise FitError("The views are black or not finite; the fit needs a brighter capture.")
    return 0.5 / mean
