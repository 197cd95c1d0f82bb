"""A worked example: a term that makes the layers either opaque or clear.

The mean of alpha (1 - alpha) is largest where a layer is half transparent. In the package the
definition would be in `fitting/paper/losses.py`, the gradient in `fitting/paper/regularisation.py`
and the weight in `Weights` in `fitting/settings.py`; the test beside it is the one that every term
has.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from napari_dpdeblur.fitting.paper.losses import Rendering


def indecision(rendering: Rendering) -> Tensor:
    """Mean of alpha (1 - alpha) over layers and pixels: the definition, a value of `TERMS`."""
    alpha = rendering.alpha
    return (alpha * (1 - alpha)).mean()


@dataclass(frozen=True)
class IndecisionGradient:
    """The same term with a gradient written by hand: one of the `parts` of an Objective."""

    weight: float

    def add_gradient(
        self, color: Tensor, alpha: Tensor, color_gradient: Tensor, alpha_gradient: Tensor
    ) -> dict[str, Tensor]:
        """Add the gradient to ``alpha_gradient`` in place, and return the weighted term."""
        alpha_gradient.add_(1 - 2 * alpha, alpha=self.weight / alpha.numel())
        return {"indecision": self.weight * (alpha * (1 - alpha)).mean()}
