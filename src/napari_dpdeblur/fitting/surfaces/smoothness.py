"""Smoothness of colours: squares that are re-weighted like total variation."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad


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
