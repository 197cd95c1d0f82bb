"""From a defocus map to the layers of a multiplane image, occluded parts included."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate, pad

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import largest_around
from napari_dpdeblur.optics.lazy_layers import EvenAlpha, EvenColor
from napari_dpdeblur.optics.mpi import MultiplaneImage


def weights_of_layers(defocus_map: Tensor, scales: Tensor) -> Iterator[Tensor]:
    """Linear weights of the two scales next to each pixel's defocus; sum 1.

    Layer by layer, (1, h, w) each, to save memory.
    """
    step = scales[0] - scales[1]
    within = defocus_map.clamp(scales[-1], scales[0])[None]
    return ((within - scale).abs_().div_(-step).add_(1).clamp_min_(0) for scale in scales)


def even_layers(
    image: Tensor,
    defocus_map: Tensor,
    scales: Tensor,
    reach_px: tuple[int, int],
    occlusion_step: float,
    size: tuple[int, int],
    unit: float = 1.0,
) -> MultiplaneImage:
    """Evenly spaced layers of a surface, continued by ``reach_px`` behind its nearer parts.

    A blurred edge lets light past from behind it; without a continuation there would be none.
    A surface occludes another that lies ``occlusion_step`` layers behind it. ``image`` (C, h, w)
    is divided by ``unit``, and layers are enlarged to ``size``, when they are used.
    """
    farthest = largest_around(defocus_map, reach_px)
    check_cancelled()
    occludes = (farthest - defocus_map) > occlusion_step * (scales[0] - scales[1])
    behind = inpaint(image, (~occludes).to(image.dtype)[None])
    check_cancelled()
    surface, continued, is_nearer, steps, shown, filled = (
        t.cpu().numpy() for t in (defocus_map, farthest, occludes, scales, image, behind)
    )
    alpha = EvenAlpha(surface, continued, is_nearer, steps, size)
    return MultiplaneImage(EvenColor(alpha, shown, filled, unit), alpha, scales)


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
