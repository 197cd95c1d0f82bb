"""Layers from surfaces: mattes, continuation behind what is nearer, colours."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import GuidedFilter
from napari_dpdeblur.fitting.image.layers import inpaint
from napari_dpdeblur.fitting.parameters.surfaces import LayerStackParameters
from napari_dpdeblur.fitting.surfaces.find import Surface
from napari_dpdeblur.fitting.surfaces.levels import local_range
from napari_dpdeblur.fitting.surfaces.order import label_image
from napari_dpdeblur.fitting.surfaces.regions import distance_px
from napari_dpdeblur.optics.mpi import transmittance

SMALLEST_STEP = 1e-3  # between the typical scales of two layers


@dataclass(frozen=True)
class SurfaceLayers:
    """Layers (L, ...), far to near, one surface each, on the grid of the map.

    ``alpha`` and ``defocus`` (L, 1, h, w); ``own`` (L, 1, h, w) is the part of a layer that is
    seen, the rest is continued behind nearer layers; ``scales`` (L,) are typical and fall.
    """

    alpha: Tensor
    own: Tensor
    defocus: Tensor
    scales: Tensor

    def defocus_map(self) -> Tensor:
        """Defocus of what is seen: (h, w)."""
        shares: Tensor = transmittance(self.alpha)
        return (shares * self.defocus).sum(0)[0]

    def color(self, image: Tensor, parameters: LayerStackParameters) -> Tensor:
        """Colours (L, C, h, w): an image (C, h, w) where a layer is seen, else filled from it."""
        color = image.new_empty(len(self.alpha), *image.shape)
        for layer, own in zip(color, self.own, strict=True):
            layer[:] = own * image + (1 - own) * inpaint(image, _core(own, parameters))
            check_cancelled()
        return color


def _core(own: Tensor, parameters: LayerStackParameters) -> Tensor:
    """Where a layer is seen (1, h, w), away from its outline; all of it if it is too thin."""
    seen = (own > parameters.seen_share).to(own.dtype)
    radius = parameters.outline_px
    core = cv2.erode(seen[0].cpu().numpy(), np.ones((2 * radius + 1,) * 2, np.uint8))
    known = torch.from_numpy(core)[None].to(own)
    if not bool(known.any()):
        known = seen if bool(seen.any()) else own
    return known


def surface_layers(
    surfaces: list[Surface], image: Tensor, parameters: LayerStackParameters
) -> SurfaceLayers:
    """Layers of ordered surfaces; ``image`` (C, h, w) is the sharp image that mattes follow."""
    labels = label_image(surfaces)
    covered = _covered(surfaces, labels, image.mean(0), parameters)
    shape = (len(surfaces), 1, *labels.shape)
    alpha, own = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for k, surface in enumerate(surfaces):
        in_front = covered[k + 1]
        own[k, 0] = covered[k] - in_front
        visible = np.where(in_front < 1, own[k, 0] / np.maximum(1 - in_front, 1e-3), 0)
        is_behind = _around(surface.region, parameters.continuation_px) & (labels > k)
        alpha[k, 0] = 1 if k == 0 else np.where(is_behind, 1, np.clip(visible, 0, 1))
        check_cancelled()
    defocus = np.stack([surface.defocus for surface in surfaces])[:, None]
    scales = _falling([surface.scale for surface in surfaces])
    tensors = (torch.from_numpy(np.asarray(a, np.float32)) for a in (alpha, own, defocus, scales))
    return SurfaceLayers(*(tensor.to(image) for tensor in tensors))


def _falling(scales: list[float]) -> list[float]:
    """Scales that fall from layer to layer, also where ordered ones of slanted surfaces do not."""
    falling = scales[:1]
    for scale in scales[1:]:
        falling.append(min(scale, falling[-1] - SMALLEST_STEP))
    return falling


def _covered(
    surfaces: list[Surface], labels: np.ndarray, guide: Tensor, parameters: LayerStackParameters
) -> FloatArray:
    """Share of each pixel that belongs to surface k or to one in front of it: (L + 1, h, w).

    Hard along borders without a step, a matte of the sharp image at occlusion boundaries.
    """
    defocus = np.zeros(labels.shape, np.float32)
    for surface in surfaces:
        defocus[surface.region] = surface.defocus[surface.region]
    is_step = local_range(defocus, parameters.matte_px) > parameters.occlusion_step
    matted = GuidedFilter(guide, parameters.matte_px, parameters.matte_epsilon)
    covered = np.zeros((len(surfaces) + 1, *labels.shape), np.float32)
    covered[0] = 1
    for k in range(len(surfaces) - 1, 0, -1):
        hard = (labels >= k).astype(np.float32)
        soft = matted(torch.from_numpy(hard).to(guide)).cpu().numpy()
        soft = np.clip((soft - parameters.matte_tail) / (1 - 2 * parameters.matte_tail), 0, 1)
        is_outline = local_range(hard, parameters.outline_px) > 0
        covered[k] = np.maximum(np.where(is_outline & is_step, soft, hard), covered[k + 1])
        check_cancelled()
    return covered


def _around(region: np.ndarray, radius: int) -> np.ndarray:
    """Pixels within a distance of a region (h, w)."""
    return np.asarray(distance_px(region) <= radius)
