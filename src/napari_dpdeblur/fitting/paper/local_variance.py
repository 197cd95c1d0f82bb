"""Local variance (TV^2) with a hand-written gradient, the inner loop of the smoothness terms."""

from __future__ import annotations

import torch
from torch import Tensor

# True variance = VARIANCE_UNIT x LocalVariance.value, and likewise for the gradient: leaving these
# factors to the caller, who has others to apply anyway, saves passes over memory.
VARIANCE_UNIT = -1 / 4
GRADIENT_UNIT = -3 / 2


class LocalVariance:
    """Gaussian-weighted variance in 3 x 3 windows of images (..., H, W), edge-replicated.

    The same numbers as :func:`~napari_dpdeblur.fitting.paper.losses.local_variance`, divided by
    ``VARIANCE_UNIT``: for neighbouring differences b and f, the variance of three pixels with
    weights 1/4, 1/2, 1/4 is (3 b^2 + 3 f^2 + 2 b f) / 16 = -(b f - 3/4 (b + f)^2) / 4.
    """

    def __init__(self, image: Tensor) -> None:
        self._across = _differences(image, -1)
        before, after = _before(self._across, -1), _after(self._across, -1)
        means = torch.add(image, after - before, alpha=0.25)
        self._down = _differences(means, -2)
        along_rows = _line_variance(before, after)
        along_columns = _line_variance(_before(self._down, -2), _after(self._down, -2))
        sums = _pair_sums(along_rows, -2)
        along_columns.add_(_before(sums, -2), alpha=0.25).add_(_after(sums, -2), alpha=0.25)
        self.value = along_columns

    def gradient(self, outer: Tensor) -> Tensor:
        """The gradient of ``(outer * value).sum()`` to the image, divided by ``GRADIENT_UNIT``."""
        row_sums = _pair_sums(outer, -2)
        means = _divergence(_line_gradient(outer, row_sums, self._down, -2), -2)
        smoothed = _before(row_sums, -2) + _after(row_sums, -2)  # 4 x mean of three rows
        flow = _line_gradient(smoothed, _pair_sums(smoothed, -1), self._across, -1)
        inner = flow[..., 1:-1]
        inner.sub_(means[..., 1:]).add_(means[..., :-1])
        return means.add_(_divergence(flow, -1), alpha=0.25)


def channel_sum(values: Tensor, dim: int) -> Tensor:
    """Sum over a dimension that stays, of size 1; a single channel is not copied."""
    return values if values.shape[dim] == 1 else values.sum(dim, keepdim=True)


def _before(padded: Tensor, dim: int) -> Tensor:
    return padded.narrow(dim, 0, padded.shape[dim] - 1)


def _after(padded: Tensor, dim: int) -> Tensor:
    return padded.narrow(dim, 1, padded.shape[dim] - 1)


def _padded(image: Tensor, dim: int) -> Tensor:
    """Uninitialised memory for what lies between pixels, both ends included."""
    shape = list(image.shape)
    shape[dim] += 1
    return image.new_empty(shape)


def _differences(image: Tensor, dim: int) -> Tensor:
    """Differences of neighbours, 0 at both ends: one entry more than pixels."""
    out = _padded(image, dim)
    size = image.shape[dim]
    out.select(dim, 0).zero_()
    out.select(dim, size).zero_()
    torch.sub(_after(image, dim), _before(image, dim), out=out.narrow(dim, 1, size - 1))
    return out


def _pair_sums(image: Tensor, dim: int) -> Tensor:
    """Sums of neighbours, of edge-replicated pixels at both ends."""
    out = _padded(image, dim)
    size = image.shape[dim]
    torch.mul(image.select(dim, 0), 2, out=out.select(dim, 0))
    torch.mul(image.select(dim, size - 1), 2, out=out.select(dim, size))
    torch.add(_after(image, dim), _before(image, dim), out=out.narrow(dim, 1, size - 1))
    return out


def _line_variance(before: Tensor, after: Tensor) -> Tensor:
    both = before + after
    return torch.mul(before, after).addcmul_(both, both, value=-0.75)


def _line_gradient(outer: Tensor, outer_sums: Tensor, differences: Tensor, dim: int) -> Tensor:
    """Gradient of ``(outer * _line_variance).sum()`` to the differences, over GRADIENT_UNIT."""
    flow = outer_sums * differences
    inner = flow.narrow(dim, 1, flow.shape[dim] - 2)
    size = inner.shape[dim]
    inner.addcmul_(_before(outer, dim), differences.narrow(dim, 0, size), value=1 / 3)
    inner.addcmul_(_after(outer, dim), differences.narrow(dim, 2, size), value=1 / 3)
    return flow


def _divergence(flow: Tensor, dim: int) -> Tensor:
    """Adjoint of :func:`_differences` for a flow that is 0 at both ends."""
    return _before(flow, dim) - _after(flow, dim)
