"""The all-in-focus image of the closed form: two-view Wiener images, joined by the defocus map."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from napari_dpdeblur.fit.layers import layer_weights
from napari_dpdeblur.fit.problem import FitProblem
from napari_dpdeblur.optics import TileWindows

NOISE_TO_SIGNAL = 1e-2
SMALLEST_FLOOR = 1e-6  # against a division by zero
BLEND_PX = 16
EXTRA_REACH_PX = 32  # an inverse filter is longer than the filter


def wiener_images(
    problem: FitProblem, defocus_map: Tensor, scales: Tensor, smoothness: float = 1.0
) -> Iterator[Tensor]:
    """Deconvolve at each scale (supplement, Eq. 13) and interpolate between scales.

    Yields the image (C, h, w) as it grows; the last one is complete.
    ``defocus_map`` (h, w) is on the grid of the views, ``scales`` (S,) fall evenly.
    ``smoothness`` is the strength of the prior that keeps noise from being amplified.
    """
    views = problem.views
    image = torch.zeros_like(views[0])
    weights = layer_weights(defocus_map, scales)
    for scale, weight in zip(scales, weights, strict=True):
        if bool(weight.any()):
            image += weight * _deconvolved(problem, float(scale), smoothness * NOISE_TO_SIGNAL)
        yield image


def _deconvolved(problem: FitProblem, scale: float, noise_to_signal: float) -> Tensor:
    """The image if all of it had this defocus."""
    views = problem.views
    grid = problem.kernels.scaled(scale, problem.pixel_pitch)
    margin = tuple(size // 2 + EXTRA_REACH_PX for size in grid.size_px)
    windows = TileWindows.of(problem.layout, (margin[0], margin[1]), BLEND_PX, views)
    spectrum = grid.spectrum(windows.fft_px)
    left, right = (torch.fft.rfft2(windows.gather(view)) for view in views)
    power = spectrum.abs().square().sum(1)
    # the mean is known exactly, it needs no regularisation
    floor = torch.full_like(power, max(noise_to_signal, SMALLEST_FLOOR))
    floor[..., 0, 0] = 0
    matched = spectrum[:, :1].conj() * left + spectrum[:, 1:].conj() * right
    sharp = torch.fft.irfft2(matched / (power + floor)[:, None], s=windows.fft_px)
    out = torch.zeros_like(views[0])
    windows.scatter(sharp, out)
    return out
