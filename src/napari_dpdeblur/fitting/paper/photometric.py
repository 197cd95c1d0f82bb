"""Data and auxiliary terms with hand-written gradients.

Each layer is blurred once, with everything that the two terms need as channels of one call; the
compositing runs in strips that fit into the processor's cache and overwrites the blurred layers
with the gradients to them, which the adjoint then carries back to the sharp layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.paper.local_variance import channel_sum
from napari_dpdeblur.fitting.parameters.paper import LossParameters
from napari_dpdeblur.optics import TiledBlur


@dataclass(frozen=True)
class _Blurred:
    """One layer through the lens, or the gradient to it: ``stack`` (V, channels, H, W).

    The parts are views into the stack, without channels where a term is switched off. The opaque
    back layer has no alpha, and its colour serves as both ``premultiplied`` and ``color``.
    """

    stack: Tensor
    premultiplied: Tensor
    alpha: Tensor
    color: Tensor
    opaque: bool

    def rows(self, rows: slice) -> _Blurred:
        """Some rows of everything, without a copy."""
        return _Blurred(
            self.stack[..., rows, :],
            self.premultiplied[..., rows, :],
            self.alpha[..., rows, :],
            self.color[..., rows, :],
            self.opaque,
        )


class Photometric:
    """Bias-corrected data term (Eq. 7-8) and auxiliary data term (Eq. 9) of views (V, C, H, W)."""

    def __init__(
        self,
        views: Tensor,
        blur: TiledBlur,
        bias: Tensor,
        weights: Mapping[str, float],
        intensity_scale: float,
        parameters: LossParameters,
        strip_rows: int = 32,
    ) -> None:
        self.views, self.blur, self.bias = views, blur, bias
        self.data_weight = weights["data"] * intensity_scale / views.numel()
        self.auxiliary_weight = weights["auxiliary"] * intensity_scale / views.numel()
        self.charbonnier_scale = parameters.charbonnier_scale
        self.strip_rows = strip_rows

    def add_gradient(
        self, color: Tensor, alpha: Tensor, color_gradient: Tensor, alpha_gradient: Tensor
    ) -> dict[str, Tensor]:
        """Add the gradients to color (L, C, H, W) and alpha (L, 1, H, W); return the terms."""
        names = ("data", "auxiliary")
        if not (self.data_weight or self.auxiliary_weight):
            return dict(zip(names, color.new_zeros(2), strict=True))
        layers = [self._blurred(i, color[i], alpha[i]) for i in range(len(color))]
        terms = self.views.new_zeros(2)
        for start in range(0, self.views.shape[-2], self.strip_rows):
            rows = slice(start, start + self.strip_rows)
            strip = _CompositedRows(
                self, [layer.rows(rows) for layer in layers], self.views[..., rows, :]
            )
            terms += strip.gradient()
            check_cancelled()
        for i in range(len(color)):
            self._back_to_layer(i, layers[i], color[i], alpha[i], color_gradient, alpha_gradient)
        return dict(zip(names, terms, strict=True))

    def _blurred(self, index: int, color: Tensor, alpha: Tensor) -> _Blurred:
        blur = self.blur[index : index + 1]
        if index == 0:
            stack = blur(color[None])[0]
            return _Blurred(stack, stack, stack[:, :0], stack, opaque=True)
        premultiplied = color * alpha if self.data_weight else color[:0]
        own = color if self.auxiliary_weight else color[:0]
        stack = blur(torch.cat([premultiplied, alpha, own])[None])[0]
        at = len(premultiplied)
        return _Blurred(stack, stack[:, :at], stack[:, at : at + 1], stack[:, at + 1 :], False)

    def _back_to_layer(
        self,
        index: int,
        gradient: _Blurred,
        color: Tensor,
        alpha: Tensor,
        color_gradient: Tensor,
        alpha_gradient: Tensor,
    ) -> None:
        blur = self.blur[index : index + 1]
        if index == 0:
            color_gradient[0] += blur.adjoint(gradient.stack[None])[0]
            return
        first = 0 if self.data_weight else 1  # without a data term nothing pulls at the alphas
        sharp = blur.adjoint(gradient.stack[None, :, first:])[0]
        if self.data_weight:
            channels, unit = len(color), self.data_weight / self.charbonnier_scale
            color_gradient[index].addcmul_(sharp[:channels], alpha, value=unit)
            pull = channel_sum(sharp[:channels] * color, 0).add_(sharp[channels])
            alpha_gradient[index].add_(pull, alpha=unit)
        if self.auxiliary_weight:
            unit = self.auxiliary_weight / self.charbonnier_scale
            color_gradient[index].add_(sharp[-len(color) :], alpha=unit)


class _CompositedRows:
    """Composite some rows of the blurred layers and replace them by their gradients.

    The gradients lack the factor weight / gamma, except in the back layer, where both terms meet.
    """

    def __init__(self, whole: Photometric, layers: list[_Blurred], views: Tensor) -> None:
        self.layers, self.views, self.bias = layers, views, whole.bias
        self.scale = whole.charbonnier_scale
        self.floor = self.scale**2 - whole.bias
        self.data_unit = whole.data_weight / self.scale
        self.auxiliary_unit = whole.auxiliary_weight / self.scale
        self.clear: list[Tensor] = []  # front to back
        self.rendered = torch.zeros_like(views)
        self.rendered_bias = torch.zeros_like(views[:, :1])
        self.back_gradient = torch.zeros_like(views)

    def gradient(self) -> Tensor:
        """Overwrite the layers with the gradients; the two terms: (2,)."""
        terms = self.views.new_zeros(2)
        terms[1] = self._front_to_back()
        if self.data_unit:
            terms[0], slope, bias_slope = self._residual()
            self._back_to_front(slope, bias_slope)
        self.layers[0].stack.copy_(self.back_gradient)
        return terms

    def _front_to_back(self) -> Tensor:
        """Render (Eq. 2) and its bias (Eq. 8); the auxiliary term."""
        total = self.views.new_zeros(())
        clear = torch.ones_like(self.rendered_bias)
        for i in reversed(range(len(self.layers))):
            layer = self.layers[i]
            shown = clear if layer.opaque else layer.alpha * clear
            if self.data_unit:
                self.rendered.addcmul_(layer.premultiplied, clear)
                self.rendered_bias.addcmul_(shown, self.bias[i])
            if self.auxiliary_unit:
                total += self._layer_error(layer, shown, self.floor[i])
            self.clear.append(clear)
            clear = clear - shown
        return total

    def _layer_error(self, layer: _Blurred, shown: Tensor, floor: Tensor) -> Tensor:
        """Auxiliary term of a layer; its colour becomes the gradient shown x error / root."""
        # The data term still needs the colour of the opaque layer.
        error = layer.color - self.views if layer.opaque else layer.color.sub_(self.views)
        root = torch.addcmul(floor, error, error).sqrt_()
        error.mul_(shown).div_(root)
        if layer.opaque:
            self.back_gradient.add_(error, alpha=self.auxiliary_unit)
        excess = channel_sum(root.sub_(self.scale), 1)
        return self.auxiliary_unit * torch.dot(excess.view(-1), shown.reshape(-1))

    def _residual(self) -> tuple[Tensor, Tensor, Tensor]:
        """The data term and its gradients to the rendered views and to their bias."""
        error = self.rendered.sub_(self.views)
        root = (error.square() - self.rendered_bias).add_(self.scale**2).sqrt_()
        slope = error.div_(root)
        bias_slope = channel_sum(root.reciprocal(), 1).mul_(-0.5)
        return self.data_unit * root.sub_(self.scale).sum(), slope, bias_slope

    def _back_to_front(self, slope: Tensor, bias_slope: Tensor) -> None:
        """Gradients of the data term; ``behind`` is what covering a pixel would take away."""
        behind = torch.zeros_like(bias_slope)
        for i, layer in enumerate(self.layers):
            clear = self.clear[-1 - i]
            layer_bias = bias_slope * self.bias[i]
            seen = channel_sum(slope * layer.premultiplied, 1)
            if layer.opaque:
                self.back_gradient.addcmul_(slope, clear, value=self.data_unit)
                behind.add_(seen).add_(layer_bias)
                continue
            torch.mul(slope, clear, out=layer.premultiplied)
            seen.addcmul_(layer_bias, layer.alpha)
            change = layer_bias.sub_(behind).mul_(clear)
            behind.addcmul_(behind, layer.alpha, value=-1).add_(seen)
            layer.alpha.copy_(change)
