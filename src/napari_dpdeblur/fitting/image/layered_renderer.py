"""All-in-focus image for given layer shapes: least squares through the renderer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.nn.functional import pad

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.conjugate_gradients import conjugate_gradients
from napari_dpdeblur.fitting.image.layers import LayerShapes, inpaint
from napari_dpdeblur.fitting.parameters.image import RendererParameters
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import TiledBlur, TileLayout
from napari_dpdeblur.optics.mpi import visibility


class LayeredRenderer:
    """Both views as a linear function of the all-in-focus image, for fixed layer shapes.

    rendered = sum_i blur_i(visible_i image + hidden_i behind) prod_{j>i} (1 - blur_j(alpha_j)),
    Eq. 2 with all layers sharing the image; ``behind`` continues it behind occluders.
    """

    def __init__(
        self,
        problem: FitProblem,
        scales: Tensor,
        shapes: LayerShapes,
        blend_px: int,
        negligible_light: float,
    ) -> None:
        blur = TiledBlur(problem.layer_kernels(scales), problem.layout, blend_px)
        check_cancelled()
        blurred_alpha = blur(shapes.alpha)
        self._shapes = shapes
        self._free = visibility(blurred_alpha)  # (L, V, 1, h, w)
        check_cancelled()
        light = blurred_alpha.mul_(self._free).amax((1, 2))
        check_cancelled()
        brightest = _brightest_in_tiles(light, problem.layout, blend_px)
        self._blur = blur.restricted(brightest > negligible_light)

    def visible(self, image: Tensor) -> Tensor:
        """What the image (C, h, w) contributes to the views (V, C, h, w)."""
        return self._rendered(self._shapes.visible, image)

    def visible_adjoint(self, views: Tensor) -> Tensor:
        """The adjoint of :meth:`visible`."""
        image = torch.zeros_like(views[0])
        for i, (seen, free) in enumerate(zip(self._shapes.visible, self._free, strict=True)):
            image += seen * self._blur[i : i + 1].adjoint((views * free)[None])[0]
        return image

    def hidden(self, image: Tensor) -> Tensor:
        """What the image inpainted behind occluders contributes to the views (V, C, h, w)."""
        return self._rendered(self._shapes.hidden, inpaint(image, self._shapes.background))

    def _rendered(self, alpha: Tensor, image: Tensor) -> Tensor:
        views = image.new_zeros(self._free.shape[1], *image.shape)
        for i, (layer, free) in enumerate(zip(alpha, self._free, strict=True)):
            views += self._blur[i : i + 1]((layer * image)[None])[0] * free
        return views


def _brightest_in_tiles(light: Tensor, layout: TileLayout, blend_px: int) -> Tensor:
    """Largest value of each layer's light (L, h, w) in each tile: (L, P)."""
    around = blend_px // 2
    widened = pad(light[:, None], (around,) * 4)[:, 0]
    tiles = [
        widened[:, top : bottom + 2 * around, left : right + 2 * around].amax((-2, -1))
        for top, bottom in zip(layout.row_edges[:-1], layout.row_edges[1:], strict=True)
        for left, right in zip(layout.col_edges[:-1], layout.col_edges[1:], strict=True)
    ]
    return torch.stack(tiles, dim=1)


class SmoothnessWeights:
    """Re-weighted squares that approximate total variation around the current image.

    Steps above ``free_step`` count linearly.
    """

    def __init__(
        self, image: Tensor, strength: float, pixel_pitch: tuple[int, int], free_step: float
    ) -> None:
        along_y, along_x = _differences(image)
        self.along_y = strength / pixel_pitch[0] / _soft_size(along_y, free_step)
        self.along_x = strength / pixel_pitch[1] / _soft_size(along_x, free_step)

    def gradient(self, image: Tensor) -> Tensor:
        """Gradient of half the weighted squares at ``image`` (C, h, w); linear in it."""
        along_y, along_x = _differences(image)
        return _divergence(self.along_y * along_y, self.along_x * along_x)

    def diagonal(self) -> Tensor:
        """The diagonal of that linear map: (C, h, w)."""
        rows = pad(self.along_y, (0, 0, 1, 0)) + pad(self.along_y, (0, 0, 0, 1))
        return rows + pad(self.along_x, (1, 0)) + pad(self.along_x, (0, 1))


def _differences(image: Tensor) -> tuple[Tensor, Tensor]:
    return image[:, 1:] - image[:, :-1], image[..., 1:] - image[..., :-1]


def _divergence(along_y: Tensor, along_x: Tensor) -> Tensor:
    rows = pad(along_y, (0, 0, 1, 0)) - pad(along_y, (0, 0, 0, 1))
    return rows + pad(along_x, (1, 0)) - pad(along_x, (0, 1))


def _soft_size(difference: Tensor, free_step: float) -> Tensor:
    # all channels of a pixel share their edges
    return (difference.square().mean(0, keepdim=True) + free_step**2).sqrt()


def sharpen_round(
    renderer: LayeredRenderer,
    problem: FitProblem,
    image: Tensor,
    steps: int,
    parameters: RendererParameters,
    smoothness: float = 1.0,
) -> Iterator[tuple[Tensor, dict[str, float]]]:
    """Conjugate-gradient steps on squared error plus smoothness; yield image and terms."""
    strength = parameters.smoothness * smoothness
    weights = SmoothnessWeights(image, strength, problem.pixel_pitch, parameters.free_step)
    diagonal = weights.diagonal() + parameters.data_diagonal
    error = problem.views - renderer.hidden(image) - renderer.visible(image)
    rendered = error

    def matrix(direction: Tensor) -> Tensor:
        nonlocal rendered
        rendered = renderer.visible(direction)
        return renderer.visible_adjoint(rendered) + weights.gradient(direction)

    residual = renderer.visible_adjoint(error) - weights.gradient(image)
    descent = conjugate_gradients(matrix, lambda values: values / diagonal, image, residual)
    for image, _, length in islice(descent, steps):
        error = error - length * rendered
        yield image, _terms(error, weights, image)


def _terms(error: Tensor, smoothness: SmoothnessWeights, image: Tensor) -> dict[str, float]:
    roughness = (image * smoothness.gradient(image)).mean()
    return {"data": float(error.square().mean()), "intensity": float(roughness)}
