from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from napari_dpdeblur.fitting.image.occlusion_boundaries import (
    OcclusionBoundaries,
    find_boundaries,
    lower_envelope,
    spread_front,
)
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.fitting.settings import FitSettings

PARAMETERS = Parameters().occlusion
RANGE_PX = PARAMETERS.range_px


@pytest.fixture
def problem(simulated: Callable[..., Any]) -> FitProblem:
    known = simulated(96, 128)
    return pose_problem(known.capture, known.calibration, FitSettings(), torch.device("cpu"))


def test_the_envelope_rises_by_the_slope_and_no_faster() -> None:
    values = torch.full((9, 30), 2.0)
    values[:, 0] = 0.5
    found = lower_envelope(values, 0.1)
    expected = (0.5 + 0.1 * torch.arange(30)).clamp_max(2.0)
    torch.testing.assert_close(found, expected.expand(9, 30))


def test_the_envelope_of_a_gentle_map_is_the_map() -> None:
    ramp = torch.linspace(0.3, 0.9, 40).expand(20, 40)
    assert torch.equal(lower_envelope(ramp, 0.1), ramp)


def test_the_mask_is_on_the_far_side_of_a_boundary_only(problem: FitProblem) -> None:
    steps = torch.full((48, 64), 1.4)
    steps[:, :32] = 0.3
    found = find_boundaries(problem, steps, PARAMETERS)
    width = found.mask.shape[-1]
    assert float(found.mask[:, : width // 2 - 2].max()) == 0
    assert float(found.mask[:, width // 2 + 2 : width // 2 + 8].min()) > 0.9
    assert float(found.mask[:, -8:].max()) == 0
    beside = found.defocus_map[:, width // 2 + 3]
    assert 0.3 < float(beside.mean()) < 0.8


def test_a_step_within_a_surface_is_no_boundary(problem: FitProblem) -> None:
    steps = torch.full((48, 64), 0.58)
    steps[:, :32] = 0.5
    assert float(find_boundaries(problem, steps, PARAMETERS).mask.max()) == 0


def test_the_image_stays_within_the_captured_range_at_boundaries() -> None:
    captured = 0.5 + 0.1 * torch.rand(1, 40, 40)
    image = torch.zeros(1, 40, 40)
    mask = torch.zeros(40, 40)
    mask[:, :20] = 1
    boundaries = OcclusionBoundaries(torch.ones(40, 40), mask)
    found = boundaries.limited(image, captured, (RANGE_PX, RANGE_PX))
    assert float(found[..., : 20 + RANGE_PX].min()) >= 0.5, "and a little beside it"
    assert float(found[..., 20 + RANGE_PX :].max()) == 0


def test_what_is_in_front_spreads_by_its_blur() -> None:
    steps = torch.full((20, 60), 0.3)
    steps[:, 30:], steps[:, 50:] = -0.9, 0.1
    found = spread_front(steps, 10.0, 0.2)
    assert torch.equal(found[:, 21:59], torch.full((20, 38), -0.9)), "9 px to both sides"
    assert torch.equal(found[:, :21], steps[:, :21])
    assert torch.equal(found[:, 59:], steps[:, 59:])


def test_a_map_behind_the_focus_does_not_spread() -> None:
    steps = torch.rand(20, 30)
    assert spread_front(steps, 10.0, 0.2) is steps


def test_the_blur_of_a_near_occluder_is_removed_beyond_its_outline(problem: FitProblem) -> None:
    steps = torch.full((48, 64), 0.2)
    steps[:, :32] = -0.9
    found = find_boundaries(problem, steps, PARAMETERS)
    width = found.mask.shape[-1]
    beside = found.defocus_map[:, width // 2 + 2]
    torch.testing.assert_close(beside, torch.full_like(beside, -0.9), rtol=0, atol=0.02)
    assert float(found.mask[:, width // 2 + 2].min()) == 1
    assert float(found.mask[:, -8:].max()) == 0
    assert float(found.mask[:, : width // 2 - 2].max()) == 0
