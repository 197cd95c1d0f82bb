"""The multiplane image: a stack of RGBA layers, each at its own defocus."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.optics.blur import TiledBlur


def visibility(alpha: Tensor) -> Tensor:
    """How much of each layer is not covered by the layers before it: prod_{j>i} (1 - alpha_j).

    Layers run back to front along dimension 0.
    """
    clear = torch.cumprod((1 - alpha).flip(0), dim=0).flip(0)
    return torch.cat([clear[1:], torch.ones_like(alpha[:1])])


@dataclass(frozen=True)
class MultiplaneImage:
    """Layers of the scene, back (index 0, largest blur) to front.

    ``color`` (L, C, H, W), ``alpha`` (L, 1, H, W) with an opaque farthest layer, and
    ``defocus_scales`` (L,) in multiples of the calibrated kernels.
    """

    color: Tensor
    alpha: Tensor
    defocus_scales: Tensor

    def visibility(self) -> Tensor:
        """Share of each layer that the layers before it leave free: (L, 1, H, W)."""
        return visibility(self.alpha)

    def transmittance(self) -> Tensor:
        """t_i = alpha_i prod_{j>i} (1 - alpha_j): (L, 1, H, W); sums to 1 over the layers."""
        return self.alpha * self.visibility()

    def all_in_focus(self) -> Tensor:
        """Composite of all layers without blur (Eq. 1): (C, H, W)."""
        return (self.transmittance() * self.color).sum(0)

    def defocus_map(self) -> Tensor:
        """Composite of the layers' defocus scales (supplement, Eq. 2): (H, W)."""
        return (self.transmittance()[:, 0] * self.defocus_scales[:, None, None]).sum(0)

    def render(self, blur: TiledBlur) -> Tensor:
        """Both views through the lens (Eq. 2): (V, C, H, W)."""
        blurred = blur(torch.cat([self.color * self.alpha, self.alpha], dim=1))
        color, alpha = blurred[:, :, :-1], blurred[:, :, -1:]
        return (color * visibility(alpha)).sum(0)
