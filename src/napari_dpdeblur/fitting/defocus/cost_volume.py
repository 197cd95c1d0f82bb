"""Evidence for each defocus scale at each pixel: how well the two views agree under it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.filters import box_mean
from napari_dpdeblur.optics import KernelGrid, TileLayout, TileWindows
from napari_dpdeblur.optics.memory import concatenated, in_groups

WHITENING = 5e-3  # C = sigma^2 |Phi|^2 of Eq. 4
BLEND_PX = 8
HIGH_PASS_PX = (4, 4)  # radius of the box whose double mean is taken off the residual
AGGREGATION_PX = (2, 2)  # radius of the box over which squared residuals are averaged


@dataclass(frozen=True)
class Evidence:
    """Cost (S, H, W) of each scale of ``scales`` (S,), which fall evenly; and the picture behind.

    ``guide`` (H, W) is the mean of views and channels at the same, reduced resolution.
    """

    cost: Tensor
    scales: Tensor
    guide: Tensor

    @property
    def step(self) -> float:
        """Distance between neighbouring scales."""
        return float(self.scales[0] - self.scales[1])


def collect_evidence(
    views: Tensor,
    kernels: KernelGrid,
    layout: TileLayout,
    scales: Tensor,
    pixel_pitch: tuple[float, float],
    correct_bias: bool = True,
) -> Generator[None, None, Evidence]:
    """Squared difference of the cross-blurred views, per scale; yields after each scale.

    For each scale d, R_d = (K_r I_l - K_l I_r) / sqrt(|K_l|^2 + |K_r|^2 + C), the first term of
    Eq. 4 as a whitened residual, which vanishes at the true d. ``views`` (2, C, H, W) are sampled
    with pixels of ``pixel_pitch`` calibrated pixels.
    """
    grids = [kernels.scaled(float(scale), pixel_pitch) for scale in scales]
    reach = max(max(grid.size_px) for grid in grids) // 2 + BLEND_PX
    windows = TileWindows.of(layout, (reach, reach), BLEND_PX, views)
    spectra = _spectra(views, windows)
    cost = views.new_empty(len(grids), *views.shape[-2:])
    for grid, out in zip(grids, cost, strict=True):
        residual, noise_share = _whitened(spectra, windows, grid, views[0])
        # A difference in brightness (vignetting that is left) says nothing about defocus.
        residual -= box_mean(box_mean(residual, HIGH_PASS_PX), HIGH_PASS_PX)
        torch.sum(box_mean(residual.square(), AGGREGATION_PX), 0, out=out)
        if correct_bias:
            # White noise keeps this share of its power in R_d; without the division small blur
            # costs more than it should.
            out /= noise_share
        yield
    return Evidence(cost, scales, views.mean((0, 1)))


def _spectra(views: Tensor, windows: TileWindows) -> Tensor:
    """Transforms (V, P, C, n, m // 2 + 1) of the windows of the views."""
    padded = [windows.pad(view) for view in views]

    def transformed(tiles: range) -> Tensor:
        part = windows.restricted(tiles)
        return torch.stack([torch.fft.rfft2(part.cut(view)) for view in padded])

    return concatenated(len(windows.tiles), transformed, dim=1)


def _whitened(
    spectra: Tensor, windows: TileWindows, grid: KernelGrid, like: Tensor
) -> tuple[Tensor, Tensor]:
    """The whitened residual R_d (C, H, W), and the share of its power that white noise keeps."""
    residual = torch.zeros_like(like)
    noise_shares: list[Tensor] = []

    def whitened(tiles: range) -> tuple[Tensor, Tensor]:
        spectrum = grid.select(tiles, len(tiles), 1).spectrum(windows.fft_px)
        left, right = spectra[:, tiles.start : tiles.stop]
        power = spectrum.abs().square().sum(1)
        cross = spectrum[:, 1:] * left - spectrum[:, :1] * right
        white = cross / (power + WHITENING).sqrt()[:, None]
        return torch.fft.irfft2(white, s=windows.fft_px), (power / (power + WHITENING)).mean((1, 2))

    def add(tiles: range, computed: tuple[Tensor, Tensor]) -> None:
        windows.restricted(tiles).scatter(computed[0], residual)
        noise_shares.append(computed[1])

    count = len(windows.tiles)
    in_groups(count, count, whitened, add)
    return residual, torch.cat(noise_shares).mean()
