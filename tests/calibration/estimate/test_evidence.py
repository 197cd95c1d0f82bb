"""Costs of a pupil on views that it rendered itself."""

from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.calibration.estimate.evidence import Evidence, gather_evidence
from napari_dpdeblur.calibration.estimate.pupil import (
    PupilParameters,
    field_positions,
    pupil_grid,
    pupil_light,
    pupil_spectrum,
)
from napari_dpdeblur.calibration.estimate.settings import EvidenceParameters
from napari_dpdeblur.optics import TileLayout

SIZE, RADIUS_PX = 96, 6.0
LAYOUT = TileLayout.regular(SIZE, SIZE, 1, 1)
SCALES = [1.2, 0.8, 0.4, -0.4, -0.8, -1.2]


def pupil() -> torch.Tensor:
    grid = pupil_grid()
    return pupil_light(PupilParameters().tensor(), field_positions(1, 1, SIZE, SIZE), grid, grid)


def seen(scale: float) -> Evidence:
    """A random texture through the pupil, with periodic borders and a little noise."""
    source = torch.Generator().manual_seed(0)
    texture = torch.rand(SIZE, SIZE, generator=source)
    kernels = pupil_spectrum(pupil(), torch.tensor([scale * RADIUS_PX]), (SIZE, SIZE))[0]
    views = torch.fft.irfft2(torch.fft.rfft2(texture) * kernels, s=(SIZE, SIZE))
    noise = 1e-4 * torch.randn(views.shape, generator=source)
    return gather_evidence(views + noise, LAYOUT, 16, EvidenceParameters())


def mean_costs(scale: float) -> torch.Tensor:
    costs = seen(scale).log_costs(pupil(), torch.tensor([RADIUS_PX]), SCALES)
    return costs[..., 8:-8, 8:-8].mean((1, 2, 3))


@pytest.mark.parametrize("scale", [0.8, 0.4, -0.4, -1.2])
def test_the_true_scale_costs_least_on_both_sides(scale: float) -> None:
    assert SCALES[int(mean_costs(scale).argmin())] == scale


@pytest.mark.parametrize("scale", [0.6, 0.0, -1.0])
def test_a_scale_between_two_costs_less_than_both(scale: float) -> None:
    evidence, radius = seen(scale), torch.tensor([RADIUS_PX])
    at = evidence.log_costs(pupil(), radius, SCALES)
    between = evidence.between_scales(pupil(), radius, SCALES)
    assert len(between) == len(SCALES) - 1
    assert float((at.amin(0) - between.amin(0)).mean()) > 0.3


def test_costs_between_scales_are_differentiable() -> None:
    evidence, radius = seen(0.6), torch.tensor([RADIUS_PX])
    values = PupilParameters().tensor().requires_grad_(True)
    grid = pupil_grid()
    light = pupil_light(values, field_positions(1, 1, SIZE, SIZE), grid, grid)
    loss = evidence.soft_minimum(evidence.between_scales(light, radius, SCALES)).mean()
    (slope,) = torch.autograd.grad(loss, values)
    assert bool(torch.isfinite(slope).all())
    assert float(slope.abs().max()) > 0
