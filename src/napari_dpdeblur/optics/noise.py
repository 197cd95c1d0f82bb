"""Noise of the views, and the bias of the defocus estimate that it causes (Eq. 5)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from napari_dpdeblur.optics.kernels import KernelGrid
from napari_dpdeblur.optics.parameters import OpticsParameters

DEFAULTS = OpticsParameters()
LAPLACIAN_POWER = 20  # sum of the squared taps of 4 -1 -1 -1 -1
NORMAL_MEDIAN = 0.6745  # median of |x| of a standard normal distribution
LEAST_VARIANCE = 1e-9  # of images without noise, so that it can be divided by


def bias_correction(
    layer_kernels: Sequence[KernelGrid],
    mean_intensity: float = 0.5,
    noise_variance: float = DEFAULTS.noise_variance,
    inverse_power: float = DEFAULTS.inverse_power,
    fft_px: int | None = None,
) -> Tensor:
    """Amount by which noise lowers the squared error of a layer at each defocus (Eq. 5): (L,).

    ``B(d) = sigma^2 mean_f [ C / (|K_l|^2 + |K_r|^2 + C) ]`` with ``C = sigma^2 |Phi|^2``,
    averaged over frequencies and tiles. ``mean_intensity`` is the mean of the views, which sets
    their unit.
    """
    floor = noise_variance * inverse_power
    unit = noise_variance * mean_intensity / 0.5
    size = fft_px or max(max(grid.size_px) for grid in layer_kernels)
    means = []
    for grid in layer_kernels:
        power = torch.fft.fft2(grid.kernels, s=(size, size)).abs().square().sum(1)
        means.append((floor / (power + floor)).mean())
    return unit * torch.stack(means)


def difference_noise(left: Tensor, right: Tensor) -> float:
    """Variance of the noise of one of two views (H, W), from second differences of theirs."""
    image = left - right
    inner = 4 * image[1:-1, 1:-1]
    beside = image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]
    spread = float((inner - beside).abs().median()) / NORMAL_MEDIAN
    return max(spread**2 / LAPLACIAN_POWER, LEAST_VARIANCE) / 2
