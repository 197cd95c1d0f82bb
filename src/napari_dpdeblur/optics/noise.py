"""How noise biases the defocus estimate, and the constants that correct for it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from napari_dpdeblur.optics.kernels import KernelGrid

NOISE_VARIANCE = 5e-5  # sigma^2 of views normalised to a mean of 0.5
INVERSE_POWER = 1e2  # |Phi|^2, the inverse power spectrum of natural images


def bias_correction(
    layer_kernels: Sequence[KernelGrid],
    mean_intensity: float = 0.5,
    noise_variance: float = NOISE_VARIANCE,
    inverse_power: float = INVERSE_POWER,
    fft_px: int | None = None,
) -> Tensor:
    """What noise alone takes off the squared error of a layer at each defocus (Eq. 5): (L,).

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
