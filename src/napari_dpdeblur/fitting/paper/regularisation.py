"""Smoothness and entropy terms with hand-written gradients, computed strip by strip.

A strip of all layers fits into the processor's cache, which saves most of the time of these
terms. Two rows of overlap make the strips exact: a gradient reaches two rows far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.paper.local_variance import (
    GRADIENT_UNIT,
    VARIANCE_UNIT,
    LocalVariance,
    channel_sum,
)
from napari_dpdeblur.fitting.parameters.paper import LossParameters

OVERLAP_ROWS = 2


def strips(height: int, rows: int) -> Iterator[tuple[slice, slice, slice]]:
    """Rows of each strip with overlap, rows without overlap, and these relative to the former."""
    for start in range(0, height, rows):
        stop = min(start + rows, height)
        first, last = max(start - OVERLAP_ROWS, 0), min(stop + OVERLAP_ROWS, height)
        yield slice(first, last), slice(start, stop), slice(start - first, stop - first)


@dataclass(frozen=True)
class _Pull:
    """Gradient of an entropy to each squared root r^2: ``toward / r - apart``."""

    toward: Tensor
    apart: Tensor


class Regularisation:
    """Intensity smoothness (Eq. 11), alpha smoothness (Eq. 12) and entropy (Eq. 13)."""

    def __init__(
        self,
        weights: Mapping[str, float],
        intensity_scale: float,
        parameters: LossParameters,
        strip_rows: int = 64,
    ) -> None:
        self.weights = weights
        self.intensity_scale = intensity_scale
        self.parameters = parameters
        self.strip_rows = strip_rows

    def add_gradient(
        self, color: Tensor, alpha: Tensor, color_gradient: Tensor, alpha_gradient: Tensor
    ) -> dict[str, Tensor]:
        """Add the gradients to color (L, C, H, W) and alpha (L, 1, H, W); return the terms."""
        terms = color.new_zeros(3)
        for outer, inner, local in strips(color.shape[-2], self.strip_rows):
            strip = _RegularisedRows(
                self, color[:, :, outer], alpha[:, 0, outer], local, color[0, 0].numel()
            )
            terms += strip.add_gradient(color_gradient[:, :, inner], alpha_gradient[:, 0, inner])
            check_cancelled()
        return dict(zip(("intensity", "alpha", "entropy"), terms, strict=True))


class _RegularisedRows:
    """The terms of some rows of an image; ``local`` are the rows that count."""

    def __init__(
        self, whole: Regularisation, color: Tensor, alpha: Tensor, local: slice, pixels: int
    ) -> None:
        self.color, self.alpha, self.local = color, alpha, local
        self.clear, self.shown = _compositing(alpha)
        per_pixel = 1 / pixels
        self.intensity_weight = whole.weights["intensity"] * per_pixel
        self.alpha_weight = whole.weights["alpha"] * per_pixel / len(alpha)
        self.entropy_weight = whole.weights["entropy"] * per_pixel
        self.parameters = whole.parameters
        # Charbonnier argument = unit * LocalVariance.value
        self.alpha_unit = VARIANCE_UNIT / whole.parameters.charbonnier_scale**2
        self.color_unit = self.alpha_unit * whole.intensity_scale**2 / color.shape[1]

    def add_gradient(self, color_gradient: Tensor, alpha_gradient: Tensor) -> Tensor:
        """Add to the gradients of the rows that count and return the three terms."""
        terms = color_gradient.new_zeros(3)
        shown_gradient = torch.zeros_like(alpha_gradient)
        edge_weight = None
        if self.intensity_weight or self.alpha_weight:
            terms[0], edge_weight = self._composite(color_gradient, shown_gradient)
        if self.intensity_weight:
            terms[0] += self._layers(color_gradient)
        if self.alpha_weight or self.entropy_weight:
            terms[1:] += self._roots(self.alpha[1:], edge_weight, alpha_gradient[1:])
            terms[1:] += self._roots(torch.stack(self.shown), edge_weight, shown_gradient)
        self._chain(shown_gradient, alpha_gradient)
        return terms

    def _composite(self, color_gradient: Tensor, shown_gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Smoothness of the all-in-focus image; also 1 + (1 - E) of it: (h, W)."""
        sharp = torch.zeros_like(self.color[0])
        for shown, color in zip(self.shown, self.color, strict=True):
            sharp.addcmul_(shown, color)
        variance = LocalVariance(sharp)
        argument = channel_sum(variance.value, 0)[0].mul_(self.color_unit)
        weight = _edge_weight(argument, self.parameters)
        if not self.intensity_weight:
            return argument.new_zeros(()), weight
        root = argument.add_(1).sqrt_()
        gradient = variance.gradient((weight / root).expand_as(sharp))[:, self.local]
        gradient.mul_(self.intensity_weight * GRADIENT_UNIT * self.color_unit / 2)
        for i, shown in enumerate(self.shown):
            color_gradient[i].addcmul_(gradient, shown[self.local])
            shown_gradient[i] += channel_sum(gradient * self.color[i, :, self.local], 0)[0]
        return self.intensity_weight * self._sum(root.sub_(1), weight), weight

    def _layers(self, color_gradient: Tensor) -> Tensor:
        """Smoothness of the layers' colours, weighted by their transmittance."""
        variances = [LocalVariance(color) for color in self.color]
        sums = [channel_sum(variance.value, 0)[0] for variance in variances]
        roots = [total.mul_(self.color_unit).add_(1).sqrt_() for total in sums]
        joint = torch.zeros_like(roots[0])
        for shown, root in zip(self.shown, roots, strict=True):
            joint.addcmul_(shown, root).sub_(shown)
        weight = _edge_weight((joint + 1).square_().sub_(1), self.parameters)
        factor = self.intensity_weight * GRADIENT_UNIT * self.color_unit / 2
        for variance, root, shown, out in zip(
            variances, roots, self.shown, color_gradient, strict=True
        ):
            slope = torch.mul(weight, shown).div_(root)
            gradient = variance.gradient(slope.expand_as(variance.value))
            out.add_(gradient[:, self.local], alpha=factor)
        return self.intensity_weight * self._sum(joint, weight)

    def _roots(self, values: Tensor, edge_weight: Tensor | None, out: Tensor) -> Tensor:
        """Smoothness and entropy of the roots of alphas or transmittances (n, h, W): (2,)."""
        roots = [value.clamp_min(self.parameters.root_floor).sqrt_() for value in values]
        terms = values.new_zeros(2)
        pull = None
        if self.entropy_weight and roots:
            terms[1], pull = self._entropy(roots)
        for root, gradient in zip(roots, out, strict=True):
            if edge_weight is not None and self.alpha_weight:
                terms[0] += self._root_smoothness(root, edge_weight, gradient)
            if pull is not None:
                gradient.addcdiv_(pull.toward, root[self.local]).sub_(pull.apart)
        return terms

    def _root_smoothness(self, root: Tensor, edge_weight: Tensor, out: Tensor) -> Tensor:
        variance = LocalVariance(root)
        charbonnier = variance.value.mul_(self.alpha_unit).add_(1).sqrt_()
        gradient = variance.gradient(edge_weight / charbonnier)[self.local]
        factor = self.alpha_weight * GRADIENT_UNIT * self.alpha_unit / 4  # d sqrt(x) = dx / (2 r)
        out.addcdiv_(gradient, root[self.local], value=factor)
        return self.alpha_weight * self._sum(charbonnier.sub_(1), edge_weight)

    def _entropy(self, roots: list[Tensor]) -> tuple[Tensor, _Pull]:
        """2 log |r|_1 - log |r|_2^2, and its gradient 1 / (|r|_1 r) - 1 / |r|_2^2 to r^2."""
        norm = torch.zeros_like(roots[0][self.local])
        square = torch.zeros_like(norm)
        for root in roots:
            norm += root[self.local]
            square.addcmul_(root[self.local], root[self.local])
        value = (norm.square() / square).log_().sum()
        weight = self.entropy_weight
        return weight * value, _Pull(weight / norm, weight / square)

    def _chain(self, shown_gradient: Tensor, alpha_gradient: Tensor) -> None:
        """Pass gradients to t_i = alpha_i prod_{j>i} (1 - alpha_j) on to the alphas."""
        behind = torch.zeros_like(shown_gradient[0])
        for i, gradient in enumerate(shown_gradient):
            gradient -= behind
            alpha_gradient[i].addcmul_(self.clear[i][self.local], gradient)
            behind.addcmul_(self.alpha[i, self.local], gradient)

    def _sum(self, values: Tensor, weight: Tensor) -> Tensor:
        counted = values[self.local], weight[self.local]
        return torch.dot(counted[0].reshape(-1), counted[1].reshape(-1))


def _compositing(alpha: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Visibility and transmittance of each layer of alpha (L, h, W), back to front."""
    clear, shown = [torch.ones_like(alpha[0])], [alpha[-1]]
    for layer in reversed(alpha[:-1].unbind()):
        clear.append(clear[-1] - shown[-1])
        shown.append(clear[-1] * layer)
    return clear[::-1], shown[::-1]


def _edge_weight(argument: Tensor, parameters: LossParameters) -> Tensor:
    """1 + exp(-TV^2 / (2 beta^2)) of argument = TV^2 / gamma^2."""
    exponent = -(parameters.charbonnier_scale**2) / (2 * parameters.edge_scale**2)
    return torch.exp(argument * exponent).add_(1)
