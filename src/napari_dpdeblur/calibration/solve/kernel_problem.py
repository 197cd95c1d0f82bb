"""Objective of the kernel solve for a few tiles, and its minimiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.fft import next_fast_len
from torch import Tensor

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.solve.tile_observations import TileObservations
from napari_dpdeblur.cancellation import check_cancelled

START_REGULARISATION = 0.03
START_HIGH_FREQUENCIES = 300.0
POWER_ITERATIONS = 12
STEP_MARGIN = 1.1
CORE_SHARE = 0.25  # of the peak: inside the kernel


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Objective for some tiles and both views; tensors are float32."""

    latent: Tensor  # (B, h + 2m, w + 2m)
    views: Tensor  # (B, 2, h, w)
    weight: Tensor  # (B, 2, h, w), mean 1
    start: Tensor  # (B, 2, K, K)
    smoothness: Tensor  # (B, 1, 1, 1), l1
    energy: float
    penalty: Tensor  # (K, K), l3 T
    spectrum: Tensor  # (B, 1, n, m // 2 + 1)
    fft_px: tuple[int, int]

    @classmethod
    def of(
        cls, tiles: TileObservations, chunk: np.ndarray, settings: SolveSettings
    ) -> KernelProblem:
        """The problem of the tiles numbered ``chunk``."""
        latent = torch.from_numpy(tiles.latent[chunk])
        weight = torch.from_numpy(tiles.weight[chunk])
        mean = weight.mean((-2, -1), keepdim=True).clamp_min(1e-12)
        views = torch.from_numpy(tiles.views[chunk])
        fft_px = (next_fast_len(latent.shape[-2], True), next_fast_len(latent.shape[-1], True))
        start = project_on_simplex(_wiener(latent, views, settings.kernel_px, fft_px))
        variance = torch.from_numpy(tiles.noise[chunk] ** 2).float().view(-1, 1, 1, 1)
        return cls(
            latent=latent,
            views=views,
            weight=weight / mean,
            start=start,
            smoothness=_smoothness(start, weight, variance, settings),
            energy=settings.energy,
            penalty=settings.radial * _radius(settings.kernel_px) ** settings.radial_power,
            spectrum=torch.fft.rfft2(latent, s=fft_px)[:, None],
            fft_px=fft_px,
        )

    @property
    def _size(self) -> int:
        return int(self.penalty.shape[-1])

    def model(self, kernels: Tensor) -> Tensor:
        """A k: the latent image blurred, (B, 2, h, w)."""
        product = torch.fft.rfft2(kernels, s=self.fft_px) * self.spectrum
        rim = self._size - 1
        height, width = self.views.shape[-2:]
        full: Tensor = torch.fft.irfft2(product, s=self.fft_px)
        return full[..., rim : rim + height, rim : rim + width]

    def correlate(self, views: Tensor) -> Tensor:
        """A' r: the adjoint, (B, 2, K, K)."""
        rim = self._size - 1
        after = [n - rim - v for n, v in zip(self.fft_px, views.shape[-2:], strict=True)]
        placed = torch.nn.functional.pad(views, (rim, after[1], rim, after[0]))
        product = torch.fft.rfft2(placed) * self.spectrum.conj()
        full: Tensor = torch.fft.irfft2(product, s=self.fft_px)
        return full[..., : self._size, : self._size]

    def residual(self, kernels: Tensor) -> Tensor:
        """View minus model, weighted to uniform noise: (B, 2, h, w)."""
        return (self.views - self.model(kernels)) * self.weight.sqrt()

    def gradient(self, kernels: Tensor) -> Tensor:
        """Gradient of the objective per pixel."""
        misfit = self.weight * (self.model(kernels) - self.views)
        data = self.correlate(misfit) / self.views[0, 0].numel()
        prior = self.smoothness * laplacian(kernels) + self.energy * kernels
        return data + prior + self.penalty

    def minimise(self, iterations: int) -> Tensor:
        """Accelerated projected gradient on the simplex (FISTA), from a Wiener estimate."""
        step = 1 / (self._curvature() + 8 * self.smoothness + self.energy)
        kernels = ahead = self.start
        momentum = 1.0
        for _ in range(iterations):
            check_cancelled()
            moved = project_on_simplex(ahead - step * self.gradient(ahead))
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            ahead = moved + (momentum - 1) / following * (moved - kernels)
            kernels, momentum = moved, following
        return kernels

    def _curvature(self) -> Tensor:
        """Largest eigenvalue of A'WA per pixel, among kernels whose sum does not change."""
        generator = torch.Generator().manual_seed(0)
        shape = (*self.views.shape[:2], self._size, self._size)
        vector = torch.rand(shape, generator=generator)
        value = torch.ones(())
        for _ in range(POWER_ITERATIONS):
            vector = vector - vector.mean((-2, -1), keepdim=True)
            vector = vector / vector.norm(dim=(-2, -1), keepdim=True)
            image = self.correlate(self.weight * self.model(vector)) / self.views[0, 0].numel()
            value = (image * vector).sum((-2, -1), keepdim=True)
            vector = image
        return STEP_MARGIN * value


def _wiener(latent: Tensor, views: Tensor, size: int, fft_px: tuple[int, int]) -> Tensor:
    """Initial kernels by regularised division of tapered spectra: (B, 2, K, K)."""
    half = size // 2
    height, width = latent.shape[-2:]
    taper = _hann(height)[:, None] * _hann(width)
    wide = torch.nn.functional.pad(views, (half, half, half, half), mode="replicate")
    mean = views.mean((-2, -1), keepdim=True)
    sharp = torch.fft.rfft2((latent[:, None] - mean) * taper, s=fft_px)
    blurred = torch.fft.rfft2((wide - mean) * taper, s=fft_px)
    power = sharp.abs() ** 2
    squares = torch.fft.fftfreq(fft_px[0])[:, None] ** 2 + torch.fft.rfftfreq(fft_px[1]) ** 2
    rough = START_REGULARISATION * power.mean((-2, -1), keepdim=True)
    rough = rough * (1 + START_HIGH_FREQUENCIES * squares)
    kernel = torch.fft.irfft2(sharp.conj() * blurred / (power + rough), s=fft_px)
    return torch.roll(kernel, (half, half), dims=(-2, -1))[..., :size, :size]


def _hann(length: int) -> Tensor:
    return torch.hann_window(length, periodic=False)


def _smoothness(start: Tensor, weight: Tensor, variance: Tensor, settings: SolveSettings) -> Tensor:
    """l1 (B, 1, 1, 1): noise per pixel over expected gradients, which scale as radius^-6."""
    rounded = torch.nn.functional.avg_pool2d(start, 3, stride=1, padding=1)
    core = rounded > CORE_SHARE * rounded.amax((-2, -1), keepdim=True)
    area = core.sum((-2, -1), keepdim=True).float().mean(1, keepdim=True).median(0).values
    radius_6 = (area / (2 * torch.pi)) ** 3  # root mean square radius of a disc of this area
    pixels = (weight > 0).sum((-2, -1), keepdim=True).float().mean(1, keepdim=True)
    noise = variance + settings.least_noise**2
    return settings.smoothness * noise * radius_6 / pixels.clamp_min(1.0)


def _radius(size: int) -> Tensor:
    """Distance from the middle, 1 at the middle of a side: (K, K)."""
    offset = torch.arange(size, dtype=torch.float32) - size // 2
    return torch.sqrt(offset[:, None] ** 2 + offset**2) / (size // 2)


def laplacian(kernels: Tensor) -> Tensor:
    """grad' grad k, with zeros outside the kernel."""
    padded = torch.nn.functional.pad(kernels, (1, 1, 1, 1))
    around = padded[..., :-2, 1:-1] + padded[..., 2:, 1:-1]
    around = around + padded[..., 1:-1, :-2] + padded[..., 1:-1, 2:]
    return 4 * kernels - around


def project_on_simplex(kernels: Tensor) -> Tensor:
    """Nearest non-negative kernels (..., K, K) that sum to 1."""
    flat = kernels.flatten(-2)
    ranked, _ = flat.sort(dim=-1, descending=True)
    excess = ranked.cumsum(-1) - 1
    count = torch.arange(1, flat.shape[-1] + 1, device=flat.device)
    active = (ranked * count > excess).sum(-1, keepdim=True)
    level = excess.gather(-1, active - 1) / active
    return (flat - level).clamp_min(0).view_as(kernels)
