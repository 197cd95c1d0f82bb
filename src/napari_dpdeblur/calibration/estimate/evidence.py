"""How well a pupil explains captures: views cross-blurred with its kernels must agree.

For the defocus scale d, R_d = (K_r I_l - K_l I_r) / sqrt(|K_l|^2 + |K_r|^2 + C) vanishes where d is
right and the kernels are. Which d is right is unknown, so each place counts with the softest
minimum over all scales: the lens can be optimised without alternating with a defocus map.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad

from napari_dpdeblur.calibration.estimate.pupil import pupil_spectrum
from napari_dpdeblur.calibration.estimate.settings import EvidenceParameters
from napari_dpdeblur.optics import TileLayout, TileWindows
from napari_dpdeblur.optics.noise import difference_noise


@dataclass(frozen=True, eq=False)
class Evidence:
    """One capture, cut into tiles at the resolution of the estimate.

    ``spectra`` (2, P, n, m // 2 + 1) are those of the tiles' windows, ``inner`` the part of a
    window that belongs to its tile, ``weight`` (P, h, w) the places with texture, ``noise`` the
    variance of one view, ``tiles`` the row-major indices of the P tiles in the grid.
    """

    spectra: Tensor
    fft_px: tuple[int, int]
    inner: tuple[slice, slice]
    weight: Tensor
    noise: float
    tiles: Tensor
    parameters: EvidenceParameters

    def select(self, kept: Tensor) -> Evidence:
        """The evidence of some of the tiles, by their position."""
        return replace(
            self,
            spectra=self.spectra[:, kept],
            weight=self.weight[kept],
            tiles=self.tiles[kept],
        )

    def with_texture(self) -> Evidence:
        """The evidence of the tiles that have texture."""
        has_texture = self.weight.mean((1, 2)) > self.parameters.empty_tile
        return self.select(has_texture.nonzero()[:, 0])

    def log_costs(self, light: Tensor, radius_px: Tensor, scales: Sequence[float]) -> Tensor:
        """Logarithm of the cost (S, P, h, w) of each scale with the pupils (P, 2, n, n)."""
        costs = {one.scale: one.cost for one in self._residuals(light, radius_px, scales)}
        return self._log(torch.stack([costs[scale] for scale in scales]))

    def between_scales(self, light: Tensor, radius_px: Tensor, scales: Sequence[float]) -> Tensor:
        """Logarithm of the smallest cost (S - 1, P, h, w) between neighbouring scales.

        Residuals are interpolated. The costs of the scales alone would prefer lenses with little
        disparity, for which the scales lie closer together.
        """
        last: dict[bool, _Residual] = {}  # on each side of the focus plane
        costs = []
        for here in self._residuals(light, radius_px, scales):
            side = here.scale > 0
            before = last.get(side, last.get(not side))
            if before is not None:
                costs.append(_smallest_between(before, here, self.parameters))
            last[side] = here
        return self._log(torch.stack(costs))

    def _log(self, costs: Tensor) -> Tensor:
        return torch.log(costs + self.parameters.noise_floor * self.noise)

    def soft_minimum(self, log_costs: Tensor) -> Tensor:
        """Soft minimum (P, h, w) over the scales."""
        sharpness = self.parameters.softmin_sharpness
        return -torch.logsumexp(-sharpness * log_costs, 0) / sharpness

    def _residuals(
        self, light: Tensor, radius_px: Tensor, scales: Sequence[float]
    ) -> Iterator[_Residual]:
        """Whitened residuals of scales, those next to the focus plane first."""
        high_pass = _high_pass(self.fft_px, self.parameters.high_pass_px, light)
        floor = self.parameters.whitening
        for size in sorted({abs(scale) for scale in scales}):
            kernels = pupil_spectrum(light, size * radius_px, self.fft_px)
            power = (kernels.real.square() + kernels.imag.square()).sum(1)
            # White noise keeps this share of its power; sharp kernels would cost more without.
            share = (high_pass.square() * power / (power + floor)).mean((1, 2))[:, None, None]
            whitening = high_pass * torch.rsqrt((power + floor) * share)
            behind = kernels * whitening[:, None]
            for scale in (size, -size):
                if scale not in scales:
                    continue
                # In front the kernel is the point reflection: its spectrum is the conjugate.
                filters = behind if scale > 0 else behind.conj()
                white = filters[:, 1] * self.spectra[0] - filters[:, 0] * self.spectra[1]
                residual = torch.fft.irfft2(white, s=self.fft_px)[(..., *self.inner)]
                cost = _pooled(residual.square(), self.parameters)
                yield _Residual(scale, residual, cost, filters)


@dataclass(frozen=True, eq=False)
class _Residual:
    """Residual (P, n, m) at one scale, its cost (P, h, w) and the filters (P, 2, n, m // 2 + 1)."""

    scale: float
    values: Tensor
    cost: Tensor
    filters: Tensor


def _smallest_between(a: _Residual, b: _Residual, parameters: EvidenceParameters) -> Tensor:
    """Smallest cost (P, h, w) of residuals interpolated between two."""
    product = _pooled(a.values * b.values, parameters)
    with torch.no_grad():
        curvature = (a.cost + b.cost - 2 * product).clamp_min(1e-20)
        t = ((a.cost - product) / curvature).clamp(0, 1)
    both = 2 * t * (1 - t)
    cost = (1 - t).square() * a.cost + t.square() * b.cost + both * product
    cost = cost.clamp_min(0)  # a sum of squares, but for rounding
    # Interpolation averages noise, the more the less the two have in common: not to be rewarded.
    common = (a.filters.real * b.filters.real + a.filters.imag * b.filters.imag).sum(1)
    noise = 1 - both * (1 - common.mean((1, 2)).clamp(0, 1)[:, None, None])
    return cost / noise


def gather_evidence(
    views: Tensor, layout: TileLayout, margin_px: int, parameters: EvidenceParameters
) -> Evidence:
    """Evidence of grey views (2, H, W) with a mean of 0.5, on tiles of ``layout``."""
    windows = TileWindows.of(layout, (margin_px, margin_px), 0, views)
    cut = torch.stack([windows.cut(windows.pad(view[None]))[:, 0] for view in views])
    height = min(b - a for a, b in zip(layout.row_edges, layout.row_edges[1:], strict=False))
    width = min(b - a for a, b in zip(layout.col_edges, layout.col_edges[1:], strict=False))
    inner = (slice(margin_px, margin_px + height), slice(margin_px, margin_px + width))
    noise = difference_noise(views[0], views[1])
    slopes = pad(cut.mean(0).diff(dim=-1).square(), (0, 1))[(..., *inner)]
    texture = _pooled(slopes, parameters)
    has_texture = texture > parameters.least_texture * noise
    weight = has_texture * texture / (texture + parameters.full_texture * noise)
    spectra = torch.fft.rfft2(cut)
    tiles = torch.arange(len(windows.tiles))
    return Evidence(spectra, windows.fft_px, inner, weight, noise, tiles, parameters)


def _pooled(values: Tensor, parameters: EvidenceParameters) -> Tensor:
    """Means (P, h', w') of values (P, h, w) around every few pixels."""
    size, stride = 2 * parameters.aggregation_px + 1, parameters.stride_px
    rows = avg_pool2d(values[:, None], (size, 1), (stride, 1))
    return avg_pool2d(rows, (1, size), (1, stride))[:, 0]


def _high_pass(fft_px: tuple[int, int], radius: int, like: Tensor) -> Tensor:
    """1 minus the transfer function of a box mean applied twice: (n, m // 2 + 1)."""
    along_y = _box(torch.fft.fftfreq(fft_px[0]), radius)[:, None]
    along_x = _box(torch.fft.rfftfreq(fft_px[1]), radius)
    return (1 - (along_y * along_x).square()).to(like)


def _box(frequency: Tensor, radius: int) -> Tensor:
    cosines = [torch.cos(2 * math.pi * frequency * i) for i in range(1, radius + 1)]
    return (1 + 2 * torch.stack(cosines).sum(0)) / (2 * radius + 1)
