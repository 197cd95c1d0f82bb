from __future__ import annotations

import torch

from napari_dpdeblur.calibration.estimate.profiles import PROFILES
from napari_dpdeblur.calibration.estimate.pupil import (
    PupilParameters,
    field_positions,
    kernel_size_px,
    pupil_grid,
    pupil_light,
    pupil_spectrum,
    sampled_kernels,
    unit_disparity,
)
from napari_dpdeblur.optics import KernelGrid

FIELD = field_positions(2, 3, 400, 600)
SHAPE = PupilParameters(split_shift=0.4, rim=0.3, coma=-0.3).tensor()


def light_of(values: torch.Tensor) -> torch.Tensor:
    return pupil_light(values, FIELD, pupil_grid(), pupil_grid())


def test_each_view_receives_all_of_its_light() -> None:
    light = light_of(SHAPE)
    assert light.shape[:2] == (6, 2)
    torch.testing.assert_close(light.sum((-2, -1)), torch.ones(6, 2))
    assert bool((light >= 0).all())


def test_every_profile_has_the_left_view_on_the_left() -> None:
    for profile in PROFILES.values():
        assert bool((unit_disparity(light_of(profile.tensor())) > 0.05).all())


def test_the_spectrum_is_that_of_the_sampled_kernels() -> None:
    radius = 8.0
    kernels = sampled_kernels(SHAPE, FIELD, radius, kernel_size_px(radius))
    direct = KernelGrid(kernels, 2, 3).centred().spectrum((64, 64))
    found = pupil_spectrum(light_of(SHAPE), torch.full((6,), radius), (64, 64))
    low = (slice(None), slice(None), slice(0, 6), slice(0, 6))  # sampling attenuates the rest
    torch.testing.assert_close(found[low], direct[low], atol=0.02, rtol=0)


def test_in_front_the_kernels_are_turned() -> None:
    light = light_of(SHAPE)
    behind = pupil_spectrum(light, torch.full((6,), 5.0), (48, 48))
    in_front = pupil_spectrum(light, torch.full((6,), -5.0), (48, 48))
    torch.testing.assert_close(in_front, behind.conj(), atol=1e-5, rtol=0)


def test_the_light_is_differentiable_in_every_parameter() -> None:
    values = SHAPE.double().requires_grad_(True)
    grid, field = pupil_grid().double(), FIELD.double()

    def power(parameters: torch.Tensor) -> torch.Tensor:
        return pupil_light(parameters, field, grid, grid).square().sum()

    assert torch.autograd.gradcheck(power, (values,), atol=1e-4)
    (gradient,) = torch.autograd.grad(power(values), values)
    assert bool((gradient != 0).all())
