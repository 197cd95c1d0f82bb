"""Propagation of estimates: noise beside surfaces on both sides of the focus plane."""

from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, propagate
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.defocus import PropagationParameters

SIZE, DARK = 160, slice(30, 130)
PARAMETERS = Parameters()


def _map(estimate: Estimate, parameters: PropagationParameters) -> torch.Tensor:
    guide = torch.full((SIZE, SIZE), 0.5)
    *_, found = propagate(estimate, guide, parameters, PARAMETERS.solver)
    return found


def _with_noise(defocus: float, weight: float = 30.0) -> Estimate:
    """A surface with a dark part, whose estimates are scattered over all scales."""
    random = torch.Generator().manual_seed(3)
    centre = defocus + 0.02 * torch.randn(SIZE, SIZE, generator=random)
    centre[DARK, DARK] = 3.4 * torch.rand(100, 100, generator=random) - 1.7
    return Estimate(centre, torch.full((SIZE, SIZE), weight))


@pytest.mark.parametrize("defocus", [-0.1, 0.07, 0.6])
def test_noise_does_not_move_the_surface_around_it(defocus: float) -> None:
    found = _map(_with_noise(defocus), PARAMETERS.propagation)
    assert float((found - defocus).abs().max()) < 0.02


def test_without_agreement_noise_would_move_it() -> None:
    """Estimates in front count less at first, so those of noise pull the map backwards."""
    credulous = PARAMETERS.propagation.model_copy(update={"agreeing_share": 0.01})
    assert float((_map(_with_noise(-0.1), credulous) + 0.1).abs().max()) > 0.05


def test_a_small_thing_keeps_its_estimates() -> None:
    """12 px wide, so that at its corners a quarter of the neighbourhood agrees."""
    centre, weight = torch.full((SIZE, SIZE), 0.9), torch.full((SIZE, SIZE), 3e3)
    guide, inside = torch.full((SIZE, SIZE), 0.5), slice(74, 86)
    centre[inside, inside], guide[inside, inside] = 0.3, 0.9
    rounds = propagate(Estimate(centre, weight), guide, PARAMETERS.propagation, PARAMETERS.solver)
    *_, found = rounds
    assert float((found[77:83, 77:83] - 0.3).abs().max()) < 0.05
