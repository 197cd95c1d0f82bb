"""A worked example: a term that makes the layers either opaque or clear.

The mean of alpha (1 - alpha) is largest where a layer is half transparent. In the package the
function would stand in `fitting/paper/losses.py`, its gradient in
`fitting/paper/regularisation.py`, its weight in
`LossWeights` and in the settings; the test beside it is the one that every term has.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from napari_dpdeblur.fitting.paper.losses import LossTerms
from napari_dpdeblur.fitting.paper.objective import Objective


def indecision(alpha: Tensor) -> Tensor:
    """Mean of alpha (1 - alpha) over layers and pixels of (L, 1, H, W): the definition."""
    return (alpha * (1 - alpha)).mean()


def add_indecision_gradient(alpha: Tensor, weight: float, gradient: Tensor) -> Tensor:
    """Add the gradient to ``gradient`` in place, and return the weighted term."""
    gradient.add_(1 - 2 * alpha, alpha=weight / alpha.numel())
    return weight * indecision(alpha)


@dataclass(frozen=True)
class MoreTerms(LossTerms):
    """The published terms and the new one; all of them are summed."""

    indecision: Tensor


class DecidedObjective(Objective):
    """The published objective with the new term."""

    def __init__(self, *arguments: Any, indecision_weight: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._indecision_weight = indecision_weight

    @torch.no_grad()
    def layer_gradient(self, color: Tensor, alpha: Tensor) -> tuple[LossTerms, Tensor, Tensor]:
        terms, color_gradient, alpha_gradient = super().layer_gradient(color, alpha)
        term = add_indecision_gradient(alpha, self._indecision_weight, alpha_gradient)
        alpha_gradient[0] = 0  # the farthest layer is opaque
        return MoreTerms(**asdict(terms), indecision=term), color_gradient, alpha_gradient
