"""Filters of images and maps (..., h, w) with equal results on all devices."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.image import VariationParameters

BAND_VALUES = 2_000_000  # pixels and channels that total_variation_filter works on at once


def box_mean(images: Tensor, radius: tuple[int, int]) -> Tensor:
    """Mean over a box that reaches ``radius`` (rows, cols) pixels from its centre.

    Images are edge-replicated.
    """
    rows, cols = radius
    flat = images.reshape(-1, 1, *images.shape[-2:])
    padded = pad(flat, (cols, cols, rows, rows), mode="replicate")
    along_y = _running_sum(padded, 2 * rows + 1, -2)
    total = _running_sum(along_y, 2 * cols + 1, -1)
    return total.div_((2 * rows + 1) * (2 * cols + 1)).reshape(images.shape)


def _running_sum(values: Tensor, window: int, dim: int) -> Tensor:
    """Sum of ``window`` neighbours, from sums of 1, 2, 4, ... neighbours: few passes."""
    length, start, width = values.shape[dim] - window + 1, 0, 1
    total = torch.zeros_like(values.narrow(dim, 0, length))
    while True:
        if window & width:
            total += values.narrow(dim, start, length)
            start += width
        if 2 * width > window:
            return total
        pairs = values.shape[dim] - width
        values = values.narrow(dim, 0, pairs) + values.narrow(dim, width, pairs)
        width *= 2


def largest_around(images: Tensor, radius: tuple[int, int]) -> Tensor:
    """Maximum over the same box as :func:`box_mean`."""
    rows, cols = radius
    flat = images.reshape(-1, 1, *images.shape[-2:])
    padded = pad(flat, (cols, cols, rows, rows), mode="replicate")
    along_y = _running_maximum(padded, 2 * rows + 1, -2)
    return _running_maximum(along_y, 2 * cols + 1, -1).reshape(images.shape)


def _running_maximum(values: Tensor, window: int, dim: int) -> Tensor:
    """Maximum of ``window`` neighbours, by doubling: wide windows cost few passes."""
    width = 1
    while width < window:
        step = min(width, window - width)
        length = values.shape[dim] - step
        values = torch.maximum(values.narrow(dim, 0, length), values.narrow(dim, step, length))
        width += step
    return values


def smallest_around(images: Tensor, radius: tuple[int, int]) -> Tensor:
    """Minimum over the same box as :func:`box_mean`."""
    return -largest_around(-images, radius)


def squared_slopes(image: Tensor) -> tuple[Tensor, Tensor]:
    """Squared gradients per pixel of an image (h, w) along y and x, 0 at its border."""
    along_y, along_x = torch.zeros_like(image), torch.zeros_like(image)
    along_y[1:-1] = ((image[2:] - image[:-2]) / 2).square()
    along_x[:, 1:-1] = ((image[:, 2:] - image[:, :-2]) / 2).square()
    return along_y, along_x


def total_variation_filter(
    image: Tensor, strength: float, parameters: VariationParameters
) -> Tensor:
    """Smooth an image (C, h, w) between its edges: Rudin et al. 1992, solved as Chambolle 2004.

    Minimises half the squared change plus ``strength`` times the total variation, by projection of
    the dual field (2, C, h, w). Channels share their edges. Large images are filtered in bands of
    rows, with as many around them as the steps reach, so that the result is the same.
    """
    height, width = image.shape[-2:]
    rows, around = max(BAND_VALUES // (len(image) * width), 1), parameters.steps + 1
    if height <= rows + 2 * around:
        return _smoothed_band(image, strength, parameters)
    smooth = torch.empty_like(image)
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        first, last = max(top - around, 0), min(bottom + around, height)
        band = _smoothed_band(image[:, first:last], strength, parameters)
        smooth[:, top:bottom] = band[:, top - first : bottom - first]
    return smooth


def _smoothed_band(image: Tensor, strength: float, parameters: VariationParameters) -> Tensor:
    field = image.new_zeros(2, *image.shape)
    smooth, step = image, parameters.step_size
    for _ in range(parameters.steps):
        slope = torch.zeros_like(field)
        torch.sub(smooth[:, 1:], smooth[:, :-1], out=slope[0, :, :-1])
        torch.sub(smooth[..., 1:], smooth[..., :-1], out=slope[1, ..., :-1])
        steepness = slope.square().sum((0, 1)).sqrt_()
        field.add_(slope, alpha=step)
        field.div_(1 + step / strength * steepness)
        smooth = image + field.sum(0)
        smooth[:, 1:] -= field[0, :, :-1]
        smooth[..., 1:] -= field[1, ..., :-1]
        check_cancelled()
    return smooth


class GuidedFilter:
    """Guided filter (He et al. 2010): keeps what is locally linear in the guide (h, w)."""

    def __init__(self, guide: Tensor, radius: int, epsilon: float) -> None:
        self._guide, self._radius = guide, (radius, radius)
        self._mean = box_mean(guide, self._radius)
        self._variance = box_mean(guide.square(), self._radius) - self._mean.square() + epsilon

    def __call__(self, values: Tensor) -> Tensor:
        """Filtered values (h, w)."""
        mean = box_mean(values, self._radius)
        covariance = box_mean(self._guide * values, self._radius) - self._mean * mean
        slope = covariance / self._variance
        offset = mean - slope * self._mean
        return box_mean(slope, self._radius) * self._guide + box_mean(offset, self._radius)


def voted_median(values: Tensor, counted: Callable[[Tensor], Tensor], bins: int) -> Tensor:
    """Median of the values (h, w) over the neighbourhood in which a filter counts votes.

    Ma et al. 2013: the filter adds up the votes for each bin of values; a guided filter counts
    those on the same side of the guide's edges. Unlike a mean it makes no values between those of
    two surfaces. Votes are interpolated between bins, and where the median is within half a bin of
    the value itself, the value stays.
    """
    lowest, highest = values.min(), values.max()
    step = ((highest - lowest) / (bins - 1)).clamp_min(1e-9)
    place = (values - lowest) / step
    votes = values.new_empty(bins, *values.shape)
    for i in range(bins):
        votes[i] = counted((1 - (place - i).abs()).clamp_min(0)).clamp_min(0)
        check_cancelled()
    middle = _middle_of(votes)
    change = middle - place
    changed = place + change * (2 * change.abs() - 1).clamp(0, 1)
    return lowest + step * changed.clamp(0, bins - 1)


def _middle_of(votes: Tensor) -> Tensor:
    """Where half of the votes (B, h, w) are reached, each spread evenly over its bin: (h, w)."""
    half = votes.sum(0) / 2
    before = torch.zeros_like(half)
    middle = torch.full_like(half, len(votes))  # more than any bin reaches
    for bin_, here in enumerate(votes):
        share = (half - before) / here.clamp_min(1e-9)
        reached = (share <= 1) & (middle > bin_ + 0.5)
        middle = torch.where(reached, bin_ - 0.5 + share.clamp_min(0), middle)
        before += here
        check_cancelled()
    return middle.clamp_max_(len(votes) - 0.5)
