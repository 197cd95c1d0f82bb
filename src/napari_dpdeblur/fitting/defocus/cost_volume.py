"""Cost volume: disagreement of the two views at each pixel for each defocus scale."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from napari_dpdeblur.computing.cores import in_order
from napari_dpdeblur.computing.memory import concatenated, in_groups
from napari_dpdeblur.fitting.image.filters import box_mean
from napari_dpdeblur.fitting.parameters.defocus import CostVolumeParameters
from napari_dpdeblur.optics import DefocusedKernels, KernelGrid, TileLayout, TileWindows
from napari_dpdeblur.optics.defocused import NYQUIST, power_of
from napari_dpdeblur.optics.noise import difference_noise


@dataclass(frozen=True)
class CostVolume:
    """Cost (S, H, W) of each of ``scales`` (S,), which fall evenly, and the image it belongs to.

    ``guide`` (H, W) is the mean of views and channels at the same, reduced resolution.
    """

    cost: Tensor
    scales: Tensor
    guide: Tensor

    @property
    def step(self) -> float:
        """Distance between neighbouring scales."""
        return float(self.scales[0] - self.scales[1])


def compute_cost_volume(
    views: Tensor,
    kernels: KernelGrid,
    layout: TileLayout,
    scales: Tensor,
    pixel_pitch: tuple[float, float],
    parameters: CostVolumeParameters,
    correct_bias: bool = True,
) -> Generator[None, None, CostVolume]:
    """Squared difference of the cross-blurred views, per scale; yields after each scale.

    For each scale d, R_d = (K_r I_l - K_l I_r) / sqrt(|K_l|^2 + |K_r|^2 + C), the first term of
    Eq. 4 as a whitened residual, which vanishes at the true d. ``views`` (2, C, H, W) are sampled
    with pixels of ``pixel_pitch`` calibrated pixels.
    """
    grids = [kernels.defocused(scale, pixel_pitch) for scale in scales.tolist()]
    reach = max(max(grid.size_px) for grid in grids) // 2 + parameters.blend_px
    windows = TileWindows.of(layout, (reach, reach), parameters.blend_px, views)
    high_pass = (parameters.high_pass_px,) * 2
    aggregation = (parameters.aggregation_px,) * 2
    spectra = _spectra(views, windows)
    floor = _whitening(windows.fft_px, views, parameters)

    def costs_of(numbers: tuple[int, ...]) -> Tensor:
        grid, count = grids[numbers[0]], len(numbers)
        residual, noise_share = _whitened(spectra, windows, grid, count, views[0], floor)
        # Differences in brightness, such as residual vignetting, say nothing about defocus.
        residual -= box_mean(box_mean(residual, high_pass), high_pass)
        mean = box_mean(residual.square(), aggregation).sum(1)
        # White noise keeps this share of its power in R_d; without the division small blur costs
        # more than it should.
        return mean / noise_share if correct_bias else mean

    cost = views.new_empty(len(grids), *views.shape[-2:])
    pairs = _opposite(grids)
    for numbers, found in zip(pairs, in_order(costs_of, pairs, views.device), strict=True):
        for number, values in zip(numbers, found, strict=True):
            cost[number] = values
            yield
    return CostVolume(cost, scales, views.mean((0, 1)))


def _whitening(fft_px: tuple[int, int], views: Tensor, parameters: CostVolumeParameters) -> Tensor:
    """C = sigma^2 |Phi|^2 of Eq. 4 per frequency; |Phi|^2 grows like 1 / power of an image."""
    freq_y = torch.fft.fftfreq(fft_px[0], device=views.device, dtype=views.dtype)[:, None]
    freq_x = torch.fft.rfftfreq(fft_px[1], device=views.device, dtype=views.dtype)
    squared: Tensor = (freq_y.square() + freq_x.square()) / NYQUIST**2
    # sigma^2 of views that are cleaner than those of a phone
    noise = sum(difference_noise(left, right) for left, right in zip(*views, strict=True))
    share = noise / views.shape[1] / parameters.usual_noise
    strength = parameters.whitening * min(max(share, parameters.least_whitening), 1.0)
    return strength * (squared + parameters.whitening_floor)


def _spectra(views: Tensor, windows: TileWindows) -> Tensor:
    """Transforms (V, P, C, n, m // 2 + 1) of the windows of the views."""
    padded = [windows.pad(view) for view in views]

    def transformed(tiles: range) -> Tensor:
        part = windows.restricted(tiles)
        return torch.stack([torch.fft.rfft2(part.cut(view)) for view in padded])

    return concatenated(len(windows.tiles), transformed, dim=1)


def _opposite(grids: list[DefocusedKernels]) -> list[tuple[int, ...]]:
    """Numbers of grids, those of the same kernels turned by 180 degrees in pairs."""
    last = len(grids) - 1
    pairs: list[tuple[int, ...]] = []
    for number, grid in enumerate(grids[: last // 2 + 1]):
        other = last - number
        if number == other:
            pairs.append((number,))
        elif grid.is_turned(grids[other]):
            pairs.append((number, other))
        else:
            pairs += [(number,), (other,)]
    return pairs


def _whitened(
    spectra: Tensor,
    windows: TileWindows,
    grid: DefocusedKernels,
    count: int,
    like: Tensor,
    floor: Tensor,
) -> tuple[Tensor, Tensor]:
    """The whitened residual R_d (count, C, H, W), and the share of its power of white noise.

    ``count`` is 1, or 2 for that of the kernels turned by 180 degrees as well, whose spectra are
    the complex conjugates.
    """
    residual = like.new_zeros(count, *like.shape)
    noise_shares: list[Tensor] = []

    def whitened(tiles: range) -> tuple[Tensor, Tensor]:
        spectrum = grid.select(tiles, len(tiles), 1).spectrum(windows.fft_px)
        left, right = spectra[:, tiles.start : tiles.stop]
        power = power_of(spectrum)
        root = (power + floor).rsqrt()
        filters = spectrum * root[:, None]
        crossed = [
            each[:, 1:] * left - each[:, :1] * right for each in (filters, filters.conj())[:count]
        ]
        white = torch.fft.irfft2(torch.stack(crossed, 1), s=windows.fft_px)
        return white, (power * root.square()).mean((1, 2))

    def add(tiles: range, computed: tuple[Tensor, Tensor]) -> None:
        windows.restricted(tiles).scatter(computed[0], residual)
        noise_shares.append(computed[1])

    total = len(windows.tiles)
    in_groups(total, total, whitened, add)
    return residual, torch.cat(noise_shares).mean()
