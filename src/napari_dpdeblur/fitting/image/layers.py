"""From a defocus map to the layers of a multiplane image, occluded parts included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate, pad

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import largest_around
from napari_dpdeblur.optics.cores import in_order
from napari_dpdeblur.optics.mpi import visibility

STRIP_PIXELS = 100_000  # computed at once by a core


def layer_weights(defocus_map: Tensor, scales: Tensor) -> Tensor:
    """Linear weights of the two scales next to each pixel's defocus: (L, 1, h, w), sum 1."""
    return torch.stack(list(weights_of_layers(defocus_map, scales)))


def weights_of_layers(defocus_map: Tensor, scales: Tensor) -> Iterator[Tensor]:
    """The same layer by layer, (1, h, w) each, to save memory."""
    step = scales[0] - scales[1]
    within = defocus_map.clamp(scales[-1], scales[0])[None]
    return ((within - scale).abs_().div_(-step).add_(1).clamp_min_(0) for scale in scales)


def alpha_of_transmittance(transmittance: Tensor) -> Tensor:
    """The alphas whose composite has these transmittances (L, 1, h, w); the back one is 1."""
    in_front = transmittance.flip(0).cumsum(0).flip(0) - transmittance
    alpha = (transmittance / (1 - in_front).clamp_min(1e-6)).clamp(0, 1)
    alpha[0] = 1
    return alpha


@dataclass(frozen=True)
class LayerShapes:
    """Shapes of the layers: what is seen of each, and what continues behind nearer ones.

    ``visible`` and ``hidden`` (L, 1, h, w) are the parts of alpha whose colour is that of the
    all-in-focus image and that of the image inpainted behind it. ``background`` (1, h, w) is 1
    where the visible surface is the farthest one around.
    """

    visible: Tensor
    hidden: Tensor
    background: Tensor

    @property
    def alpha(self) -> Tensor:
        """Alpha of the multiplane image: (L, 1, h, w)."""
        return self.visible + self.hidden

    def defocus_map(self, scales: Tensor) -> Tensor:
        """Composite of the layers' scales (h, w); hidden parts do not contribute."""
        composite = torch.empty_like(self.background[0])

        def fill(rows: slice) -> None:
            alpha = (self.visible[..., rows, :] + self.hidden[..., rows, :])[:, 0]
            shares = alpha * visibility(alpha)
            composite[rows] = (shares * scales[:, None, None]).sum(0)

        for _ in in_order(fill, _strips(composite), composite.device):
            check_cancelled()
        return composite

    def color(self, image: Tensor) -> Tensor:
        """Colours of the layers (L, C, h, w): the image where visible, else the inpainted one."""
        behind = inpaint(image, self.background)
        color = image.new_empty(len(self.visible), *image.shape)

        def fill(index: int) -> None:
            torch.where(self.visible[index] > 0, image, behind, out=color[index])

        for _ in in_order(fill, range(len(color)), image.device):
            check_cancelled()
        return color


def _strips(values: Tensor) -> Iterator[slice]:
    """Groups of rows of a map (h, w) that take little time each."""
    height, width = values.shape
    step = max(STRIP_PIXELS // width, 1)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))


def layer_shapes(
    defocus_map: Tensor, scales: Tensor, reach_px: tuple[int, int], occlusion_step: float
) -> LayerShapes:
    """Layers of a surface, continued by ``reach_px`` (rows, cols) behind its nearer parts.

    A blurred edge lets light past from behind it; without a continuation there would be none.
    A surface occludes another that lies ``occlusion_step`` layers behind it.
    """
    farthest = largest_around(defocus_map, reach_px)
    check_cancelled()
    layers = (len(scales), 1, *defocus_map.shape)
    visible, hidden = defocus_map.new_empty(layers), defocus_map.new_empty(layers)
    background = defocus_map.new_empty(1, *defocus_map.shape)

    def fill(rows: slice) -> None:
        strip = _shapes_of_rows(defocus_map[rows], farthest[rows], scales, occlusion_step)
        visible[..., rows, :], hidden[..., rows, :] = strip.visible, strip.hidden
        background[:, rows] = strip.background

    for _ in in_order(fill, _strips(defocus_map), defocus_map.device):
        check_cancelled()
    return LayerShapes(visible, hidden, background)


def _shapes_of_rows(
    defocus_map: Tensor, farthest: Tensor, scales: Tensor, occlusion_step: float
) -> LayerShapes:
    step = scales[0] - scales[1]
    occludes = (farthest - defocus_map) > occlusion_step * step
    weights = layer_weights(defocus_map, scales)
    visible = alpha_of_transmittance(weights)
    visible[0] = (weights[0] > 0).to(visible.dtype)
    behind = alpha_of_transmittance(layer_weights(farthest, scales)) * occludes
    behind[0] = 1
    hidden = torch.where(visible > 0, torch.zeros_like(visible), behind)
    return LayerShapes(visible, hidden, (~occludes).to(visible.dtype)[None])


def inpaint(image: Tensor, known: Tensor) -> Tensor:
    """Fill an image (C, h, w) where ``known`` (1, h, w) is 0 from the nearest known pixels.

    Push-pull: average down until something is known, fill on the way back up.
    """
    height, width = image.shape[-2:]
    if min(height, width) <= 1:
        return image
    rows, cols = height % 2, width % 2
    weighted = pad((image * known)[None], (0, cols, 0, rows))
    share = avg_pool2d(pad(known[None], (0, cols, 0, rows)), 2)[0]
    mean = avg_pool2d(weighted, 2)[0] / share.clamp_min(1e-6)
    coarse = inpaint(mean, (share > 0).to(known.dtype))
    size = (height + rows, width + cols)
    fill = interpolate(coarse[None], size=size, mode="bilinear", align_corners=False)[0]
    return known * image + (1 - known) * fill[..., :height, :width]
