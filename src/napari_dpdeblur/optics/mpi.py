"""The multiplane image: a stack of RGBA layers, each at its own defocus.

Works with tensors and with NumPy arrays, and does not load torch for the latter.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_dpdeblur.optics.lazy_layers import LazyLayers
from napari_dpdeblur.optics.planes import PLANE_STEP, Plane, layer_planes

if TYPE_CHECKING:
    from torch import Tensor

    from napari_dpdeblur.optics.blur import TiledBlur


def _library(values: Any) -> Any:
    """The library of an array, NumPy or torch: both have the functions used here."""
    return np if isinstance(values, np.ndarray | LazyLayers) else sys.modules["torch"]


def visibility(alpha: Any) -> Any:
    """Share of each layer that the layers in front leave visible: prod_{j>i} (1 - alpha_j).

    Layers run back to front along dimension 0.
    """
    library = _library(alpha)
    clear = library.flip(library.cumprod(library.flip(1 - alpha, (0,)), 0), (0,))
    return library.concatenate([clear[1:], library.ones_like(alpha[:1])])


def transmittance(alpha: Any) -> Any:
    """t_i = alpha_i prod_{j>i} (1 - alpha_j), the share of each layer in a pixel; sums to 1."""
    return alpha * visibility(alpha)


@dataclass(frozen=True, eq=False)
class MultiplaneImage:
    """Layers of the scene, back (index 0, largest blur) to front.

    ``color`` (L, C, H, W), ``alpha`` (L, 1, H, W) with an opaque farthest layer, and
    ``defocus_scales`` (L,) in multiples of the calibrated kernels: all tensors, or all arrays.
    ``defocus`` (L, 1, H, W), if given, is the defocus of every pixel of layers that are slanted or
    curved; ``defocus_scales`` are then typical values. The layers of large results are computed
    when they are indexed (``LazyLayers``).
    """

    color: Any
    alpha: Any
    defocus_scales: Any
    defocus: Any = None

    def visibility(self) -> Any:
        """Share of each layer that the layers in front leave visible: (L, 1, H, W)."""
        return visibility(self.alpha)

    def transmittance(self) -> Any:
        """Share of each layer in each pixel: (L, 1, H, W)."""
        return transmittance(self.alpha)

    def all_in_focus(self) -> Any:
        """Composite of all layers without blur (Eq. 1): (C, H, W)."""
        return (self.transmittance() * self.color).sum(0)

    def defocus_map(self) -> Any:
        """Composite of the layers' defocus scales (supplement, Eq. 2): (H, W)."""
        scales = self.defocus_scales[:, None, None] if self.defocus is None else self.defocus[:, 0]
        return (self.transmittance()[:, 0] * scales).sum(0)

    def hidden(self) -> Any:
        """What was filled in behind nearer layers: the covered part of each alpha (L, 1, H, W)."""
        return self.alpha * (1 - self.visibility())

    def planes(self, step: float = PLANE_STEP) -> list[list[Plane]]:
        """Planes of constant defocus of each layer, at most ``step`` apart; one if it is flat."""
        scales = [float(scale) for scale in self.defocus_scales]
        own = [None] * len(scales) if self.defocus is None else self.defocus
        layers = zip(self.alpha, own, scales, strict=True)
        return [layer_planes(alpha, defocus, typical, step) for alpha, defocus, typical in layers]

    def render(self, blur: TiledBlur) -> Tensor:
        """Both views through the lens (Eq. 2): (V, C, H, W)."""
        library = _library(self.color)
        blurred = blur(library.concatenate([self.color * self.alpha, self.alpha], 1))
        color, alpha = blurred[:, :, :-1], blurred[:, :, -1:]
        rendered: Tensor = (color * visibility(alpha)).sum(0)
        return rendered
