from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from napari_dpdeblur.optics import KernelGrid
from napari_dpdeblur.optics.defocused import power_of

Kernels = Callable[..., KernelGrid]
FFT_PX = (48, 64)


def _gaussian_grid(offset_px: float) -> KernelGrid:
    """Smooth spots, the left one ``offset_px`` to the left and up, the right one opposite."""
    position = torch.arange(41, dtype=torch.float64) - 20
    left, right = (torch.exp(-((position - p) ** 2) / 18) for p in (-offset_px, offset_px))
    kernels = torch.stack([torch.outer(left, left), torch.outer(right, right)])[None]
    return KernelGrid(kernels / kernels.sum((-2, -1), keepdim=True), 1, 1)


def test_scale_one_is_the_calibrated_kernel(random_kernels: Kernels) -> None:
    grid = random_kernels(2, 2, 21)
    torch.testing.assert_close(grid.defocused(1.0).spectrum(FFT_PX), grid.spectrum(FFT_PX))


@pytest.mark.parametrize("scale", [0.5, 0.8, 1.4, -0.5, -1.2])
def test_a_gaussian_is_stretched(scale: float) -> None:
    """The kernel of scale d is known in closed form: width and offset times d."""
    found = _gaussian_grid(4.0).defocused(scale).spectrum(FFT_PX)
    freq_y, freq_x = torch.fft.fftfreq(48)[:, None].double(), torch.fft.rfftfreq(64).double()
    width = torch.exp(-2 * (torch.pi * 3.0 * scale) ** 2 * (freq_y**2 + freq_x**2))
    for view, offset in enumerate((-4.0, 4.0)):
        turn = -2 * torch.pi * offset * scale * (freq_y + freq_x)
        expected = torch.polar(width, turn)
        torch.testing.assert_close(found[0, view], expected, rtol=0, atol=1e-3)


def test_in_focus_is_a_point(random_kernels: Kernels) -> None:
    spectrum = random_kernels(1, 1, 21).defocused(0.0).spectrum(FFT_PX)
    torch.testing.assert_close(spectrum, torch.ones_like(spectrum))
    area = random_kernels(1, 1, 21).scaled(0.0)
    assert area.kernels.tolist() == [[[[1.0]], [[1.0]]]]


def test_nothing_jumps_at_the_focus_plane(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1, 21).centred()
    behind, front = (grid.defocused(scale).spectrum(FFT_PX) for scale in (1e-4, -1e-4))
    torch.testing.assert_close(behind, front, rtol=0, atol=1e-2)


@pytest.mark.parametrize("scale", [1.3, 1.0, 0.4, 0.05])
def test_in_front_kernels_are_turned(random_kernels: Kernels, scale: float) -> None:
    grid = random_kernels(2, 1, 21)
    behind, front = (grid.defocused(sign * scale).spectrum(FFT_PX) for sign in (1, -1))
    torch.testing.assert_close(front, behind.conj())
    torch.testing.assert_close(grid.scaled(-scale).kernels, grid.scaled(scale).kernels.flip(-2, -1))


def test_disparity_changes_its_sign(published_kernels: KernelGrid) -> None:
    behind, front = (published_kernels.scaled(scale).disparity_px() for scale in (0.7, -0.7))
    torch.testing.assert_close(front, -behind, rtol=0, atol=1e-4)


def test_coarse_pixels(random_kernels: Kernels) -> None:
    grid = random_kernels(1, 1, 21)
    coarse = grid.defocused(1.0, pixel_pitch=(2.0, 1.0)).spectrum(FFT_PX)
    stretched = grid.defocused(0.5).spectrum(FFT_PX)
    torch.testing.assert_close(coarse[..., 0], stretched[..., 0])  # rows alone


def test_beyond_its_nyquist_frequency_a_stretched_kernel_has_nothing() -> None:
    grid = KernelGrid(torch.ones(1, 2, 1, 1, dtype=torch.float64), 1, 1)
    spectrum = grid.defocused(2.0).spectrum((8, 8))[0, 0].real
    assert spectrum[0].tolist() == [1, 1, 1, 0, 0]


def test_measured_kernels_in_front_are_used(random_kernels: Kernels) -> None:
    behind, front = random_kernels(1, 2, 21), random_kernels(1, 2, 21).kernels.flip(1)
    grid = replace(behind, front=front, front_scale=-0.5)
    own = KernelGrid(front, 1, 2)
    torch.testing.assert_close(grid.scaled(-0.5).kernels, own.scaled(1.0).kernels)
    torch.testing.assert_close(grid.scaled(-0.25).kernels, own.scaled(0.5).kernels)
    torch.testing.assert_close(
        grid.defocused(-0.4).spectrum(FFT_PX), own.defocused(0.8).spectrum(FFT_PX)
    )
    torch.testing.assert_close(grid.scaled(0.7).kernels, behind.scaled(0.7).kernels)


def test_changes_apply_to_both_sides(random_kernels: Kernels) -> None:
    behind, front = random_kernels(1, 2, 21), random_kernels(1, 2, 21).kernels.flip(1)
    grid = replace(behind, front=front)
    part = grid.select([1], 1, 1)
    assert part.front is not None
    assert torch.equal(part.front, front[[1]])
    for changed, own in (
        (grid.centred(), KernelGrid(front, 1, 2).centred()),
        (grid.sharpened((1.0, 1.0)), KernelGrid(front, 1, 2).sharpened((1.0, 1.0))),
        (grid.to(dtype=torch.float32), KernelGrid(front, 1, 2).to(dtype=torch.float32)),
    ):
        assert changed.front is not None
        assert torch.equal(changed.front, own.kernels)


def test_the_support_holds_the_kernel(published_kernels: KernelGrid) -> None:
    for scale in (1.3, 0.5, -0.7):
        kernels = published_kernels.defocused(scale)
        height, width = kernels.size_px
        spectrum = kernels.spectrum((160, 160))
        placed = torch.fft.fftshift(torch.fft.irfft2(spectrum, s=(160, 160)), dim=(-2, -1))
        rows, cols = (slice(80 - size // 2, 81 + size // 2) for size in (height, width))
        outside = placed.abs().sum((-2, -1)) - placed[..., rows, cols].abs().sum((-2, -1))
        assert float(outside.max()) < 0.02


@pytest.mark.parametrize("scale", [0.3, 0.8, -1.2])
def test_sampled_kernels_blur_as_their_spectrum_does(scale: float) -> None:
    kernels = _gaussian_grid(4.0).defocused(scale)
    sampled = kernels.sampled(1e-4)
    height, width = sampled.shape[-2:]
    assert height % 2 == width % 2 == 1
    assert height <= kernels.size_px[0]
    torch.testing.assert_close(sampled.sum((-2, -1)), torch.ones(1, 2, dtype=torch.float64))
    again = KernelGrid(sampled, 1, 1).spectrum((64, 64))
    torch.testing.assert_close(again, kernels.spectrum((64, 64)), rtol=0, atol=0.015)


def test_turned_kernels_are_recognised(random_kernels: Kernels) -> None:
    grid = random_kernels(2, 2, 21)
    near, far = grid.defocused(-0.7), grid.defocused(0.7)
    assert near.is_turned(far)
    torch.testing.assert_close(near.spectrum(FFT_PX), far.spectrum(FFT_PX).conj())
    assert not near.is_turned(grid.defocused(0.8))
    measured = replace(grid, front=grid.kernels.flip(0), front_scale=-1.0)
    assert not measured.defocused(-0.7).is_turned(measured.defocused(0.7))


def test_power_is_the_sum_of_squares(random_kernels: Kernels) -> None:
    spectrum = random_kernels(2, 2, 21).defocused(0.7).spectrum(FFT_PX)
    torch.testing.assert_close(power_of(spectrum), spectrum.abs().square().sum(1))
