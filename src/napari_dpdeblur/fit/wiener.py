"""The all-in-focus image of the closed form: two-view Wiener images, joined by the defocus map."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from napari_dpdeblur.fit.layers import layer_weights
from napari_dpdeblur.fit.problem import FitProblem
from napari_dpdeblur.optics import KernelGrid, TileWindows

NOISE_TO_SIGNAL = 1e-2
SMALLEST_FLOOR = 1e-6  # against a division by zero
BLEND_PX = 16
TILES_AT_ONCE = 8
EXTRA_REACH_PX = 32  # an inverse filter is longer than the filter


def wiener_images(
    problem: FitProblem,
    defocus_map: Tensor,
    scales: Tensor,
    smoothness: float = 1.0,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Tensor]:
    """Deconvolve at each scale (supplement, Eq. 13) and interpolate between scales.

    Yields the image (C, h, w) as it grows; the last one is complete.
    ``defocus_map`` (h, w) is on the grid of the views, ``scales`` (S,) fall evenly.
    ``smoothness`` is the strength of the prior that keeps noise from being amplified; ``check``
    is called between groups of tiles.
    """
    image = torch.zeros_like(problem.views[0])
    weights = layer_weights(defocus_map, scales)
    floor = max(smoothness * NOISE_TO_SIGNAL, SMALLEST_FLOOR)
    for scale, weight in zip(scales, weights, strict=True):
        if bool(weight.any()):
            image += weight * _deconvolved(problem, float(scale), floor, check)
        yield image


def _deconvolved(
    problem: FitProblem, scale: float, noise_to_signal: float, check: Callable[[], None]
) -> Tensor:
    """The image (C, h, w) if all of it had this defocus."""
    views = problem.views
    grid = problem.kernels.scaled(scale, problem.pixel_pitch)
    height, width = (size // 2 + EXTRA_REACH_PX for size in grid.size_px)
    windows = TileWindows.of(problem.layout, (height, width), BLEND_PX, views)
    padded = [windows.pad(view) for view in views]
    out = torch.zeros_like(views[0])
    for start in range(0, len(windows.tiles), TILES_AT_ONCE):
        part = windows.restricted(windows.tiles[start : start + TILES_AT_ONCE])
        tiles = grid.kernels[start : start + TILES_AT_ONCE]
        spectrum = KernelGrid(tiles, len(tiles), 1).spectrum(part.fft_px)
        left, right = (torch.fft.rfft2(part.cut(view)) for view in padded)
        sharp = _two_view_wiener(left, right, spectrum, noise_to_signal)
        part.scatter(torch.fft.irfft2(sharp, s=part.fft_px), out)
        check()
    return out


def _two_view_wiener(left: Tensor, right: Tensor, spectrum: Tensor, floor: float) -> Tensor:
    """Spectra (P, C, n, m) of the sharp windows from those of both views."""
    power = spectrum.abs().square().sum(1, keepdim=True) + floor
    # the mean is known exactly, it needs no regularisation
    power[..., 0, 0] -= floor
    return (spectrum[:, :1].conj() * left + spectrum[:, 1:].conj() * right) / power
