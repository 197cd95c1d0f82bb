"""Confidence of the finished map."""

from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.fitting.defocus.local_estimate import Estimate
from napari_dpdeblur.fitting.parameters.report import ConfidenceParameters
from napari_dpdeblur.fitting.report.confidence import map_confidence

PARAMETERS = ConfidenceParameters()
SHAPE = (60, 80)


def _confidence(centre: torch.Tensor, weight: float, values: torch.Tensor) -> torch.Tensor:
    estimate = Estimate(centre, torch.full(SHAPE, weight))
    return map_confidence(estimate, values, PARAMETERS)


def test_estimates_that_agree_make_a_map_certain() -> None:
    values = torch.full(SHAPE, 0.5)
    assert float(_confidence(values, 200.0, values).min()) > 0.95


def test_estimates_at_random_make_no_map_certain() -> None:
    """As those of noise: spread over all scales, with little weight."""
    generator = torch.Generator().manual_seed(0)
    random = 3 * torch.rand(SHAPE, generator=generator) - 1.5
    assert float(_confidence(random, 5.0, torch.zeros(SHAPE)).mean()) < 0.2


def test_clear_estimates_elsewhere_oppose_the_map() -> None:
    values = torch.full(SHAPE, 0.5)
    centre = values.clone()
    centre[20:40, 20:40] = 0.9
    found = _confidence(centre, 200.0, values)
    assert float(found[30, 30]) < float(found[5, 75]) - 0.2


def test_weak_estimates_elsewhere_do_not_oppose_it() -> None:
    """A plain part of a textured surface is as certain as the rest of it."""
    values = torch.full(SHAPE, 0.5)
    centre, weight = values.clone(), torch.full(SHAPE, 200.0)
    centre[25:35, 25:35], weight[25:35, 25:35] = 1.2, 1.0
    found = map_confidence(Estimate(centre, weight), values, PARAMETERS)
    assert float(found[30, 30]) > 0.9


@pytest.mark.parametrize("factor", [1, 2])
def test_steps_of_the_map_are_uncertain(factor: int) -> None:
    values = torch.full(SHAPE, 0.5)
    values[:, 40:] = 0.9
    large = values.repeat_interleave(factor, 0).repeat_interleave(factor, 1)
    found = _confidence(values, 200.0, large)
    assert found.shape == SHAPE
    assert float(found[30, 40]) < float(found[30, 10]) - 0.1
