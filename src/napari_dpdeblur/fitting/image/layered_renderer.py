"""The all-in-focus image given the layers' shapes: least squares through the renderer."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.layers import LayerShapes, picture_behind
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import TiledBlur, TileLayout
from napari_dpdeblur.optics.mpi import visibility

SMOOTHNESS = 1e-3  # weight of total variation against squared error, mean intensity 0.5
FREE_STEP = 0.02  # intensity step from which on neighbours may differ freely
NEGLIGIBLE_LIGHT = 2e-3  # a layer that gives a tile less light than this is left out there
DATA_DIAGONAL = 0.3  # typical diagonal of the data term, for the preconditioner


class LayeredRenderer:
    """Both views as a linear function of one all-in-focus image, for fixed layers.

    rendered = sum_i blur_i(visible_i image + hidden_i behind) prod_{j>i} (1 - blur_j(alpha_j)),
    Eq. 2 with all layers sharing the image; ``behind`` continues it behind occluders.
    """

    def __init__(
        self,
        problem: FitProblem,
        scales: Tensor,
        shapes: LayerShapes,
        blend_px: int,
    ) -> None:
        blur = TiledBlur(problem.layer_kernels(scales), problem.layout, blend_px)
        check_cancelled()
        blurred_alpha = blur(shapes.alpha)
        self._shapes = shapes
        self._free = visibility(blurred_alpha)  # (L, V, 1, h, w)
        check_cancelled()
        light = blurred_alpha.mul_(self._free).amax((1, 2))
        check_cancelled()
        self._blur = blur.restricted(_tiles_with(light, problem.layout, blend_px))

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
        """What is behind the occluders contributes to the views (V, C, h, w)."""
        return self._rendered(self._shapes.hidden, picture_behind(image, self._shapes.background))

    def _rendered(self, alpha: Tensor, image: Tensor) -> Tensor:
        views = image.new_zeros(self._free.shape[1], *image.shape)
        for i, (layer, free) in enumerate(zip(alpha, self._free, strict=True)):
            views += self._blur[i : i + 1]((layer * image)[None])[0] * free
        return views


def _tiles_with(light: Tensor, layout: TileLayout, blend_px: int) -> Tensor:
    """Which tiles (L, P) a layer's light (L, h, w) reaches."""
    around = blend_px // 2
    widened = pad(light[:, None], (around,) * 4)[:, 0]
    tiles = [
        widened[:, top : bottom + 2 * around, left : right + 2 * around].amax((-2, -1))
        for top, bottom in zip(layout.row_edges[:-1], layout.row_edges[1:], strict=True)
        for left, right in zip(layout.col_edges[:-1], layout.col_edges[1:], strict=True)
    ]
    return torch.stack(tiles, dim=1) > NEGLIGIBLE_LIGHT


class SmoothnessWeights:
    """Re-weighted squares that stand for total variation around the current image."""

    def __init__(self, image: Tensor, strength: float, pixel_pitch: tuple[int, int]) -> None:
        along_y, along_x = _differences(image)
        self.along_y = strength / pixel_pitch[0] / _soft_size(along_y)
        self.along_x = strength / pixel_pitch[1] / _soft_size(along_x)

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


def _soft_size(difference: Tensor) -> Tensor:
    # all channels of a pixel share their edges
    return (difference.square().mean(0, keepdim=True) + FREE_STEP**2).sqrt()


def sharpen_round(
    renderer: LayeredRenderer,
    views: Tensor,
    image: Tensor,
    strength: float,
    pixel_pitch: tuple[int, int],
    steps: int,
) -> Iterator[tuple[Tensor, dict[str, float]]]:
    """Conjugate-gradient steps on squared error plus smoothness; yield image and terms."""
    target = views - renderer.hidden(image)
    smoothness = SmoothnessWeights(image, strength, pixel_pitch)
    diagonal = smoothness.diagonal() + DATA_DIAGONAL
    error = target - renderer.visible(image)
    residual = renderer.visible_adjoint(error) - smoothness.gradient(image)
    direction = residual / diagonal
    energy = (residual * direction).sum()
    for _ in range(steps):
        rendered = renderer.visible(direction)
        moved = renderer.visible_adjoint(rendered) + smoothness.gradient(direction)
        length = energy / (direction * moved).sum().clamp_min(1e-30)
        image = image + length * direction
        error = error - length * rendered
        residual = residual - length * moved
        correction = residual / diagonal
        previous, energy = energy, (residual * correction).sum()
        direction = correction + energy / previous.clamp_min(1e-30) * direction
        yield image, _terms(error, smoothness, image)


def _terms(error: Tensor, smoothness: SmoothnessWeights, image: Tensor) -> dict[str, float]:
    roughness = (image * smoothness.gradient(image)).mean()
    return {"data": float(error.square().mean()), "intensity": float(roughness)}
