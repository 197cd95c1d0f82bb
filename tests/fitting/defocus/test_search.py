from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.fitting.defocus.local_estimate import Estimate
from napari_dpdeblur.fitting.defocus.search import (
    DefocusSearch,
    automatic_range,
    checked_cost_volume,
    on_grid_of,
    search_factor,
    search_scales,
    search_steps,
    with_sharp_edges,
)
from napari_dpdeblur.fitting.image.wiener import wiener_images
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import TiledBlur

PARAMETERS = Parameters()
CPU = torch.device("cpu")


@pytest.fixture
def known(simulated: Callable[..., Any]) -> Any:
    return simulated(96, 128)


@pytest.fixture
def problem(known: Any) -> FitProblem:
    return pose_problem(known.capture, known.calibration, FitSettings(), CPU)


def test_the_search_is_coarse_where_disparity_allows(problem: FitProblem) -> None:
    factor = search_factor(problem, PARAMETERS.search)
    assert factor in (2, 4, 8)
    assert min(problem.reduced(factor).views.shape[-2:]) >= 16


def test_scales_fall_evenly_from_blurred_to_sharp(problem: FitProblem) -> None:
    scales = search_scales(problem, PARAMETERS.search, 10)
    assert len(scales) == 10
    assert float(scales[0]) > 1.4
    assert 0 < float(scales[-1]) < 0.1
    torch.testing.assert_close(scales.diff(), scales.diff().mean().expand(9))


def test_the_cost_volume_has_all_scales(problem: FitProblem) -> None:
    coarse = problem.reduced(search_factor(problem, PARAMETERS.search))
    steps = checked_cost_volume(coarse, PARAMETERS, True, "scene")
    count = 0
    while True:
        try:
            next(steps)
            count += 1
        except StopIteration as end:
            volume = end.value
            break
    assert count == search_steps(PARAMETERS.search)
    assert volume.cost.shape == (PARAMETERS.search.scales, *coarse.views.shape[-2:])
    assert float(volume.cost.min()) >= 0
    assert torch.isfinite(volume.cost).all()


@pytest.mark.parametrize(
    ("low", "high"), [(0.3, 1.2), (0.05, 1.6), (0.7, 0.7), (0.0, 0.0), (-0.2, 0.5)]
)
def test_the_range_brackets_the_map(low: float, high: float) -> None:
    values = torch.linspace(low, high, 10_000).reshape(100, 100)
    back, front = automatic_range(values, PARAMETERS.search)
    assert 0 < front < back
    assert back - front >= 0.1 - 1e-6
    assert front <= max(low, 0.03) + 0.01
    assert back >= high - 0.01


def test_rare_values_do_not_stretch_the_range() -> None:
    values = torch.full((100, 100), 0.6)
    values[:50] = 0.9
    values[0, :5], values[0, 5:10] = 4.0, 0.01
    back, front = automatic_range(values, PARAMETERS.search)
    assert (back, front) == pytest.approx((0.9, 0.6), abs=0.02)


def test_a_map_keeps_its_values_on_a_finer_grid(problem: FitProblem) -> None:
    found = on_grid_of(problem, torch.full((12, 16), 0.7))
    torch.testing.assert_close(found, torch.full(problem.views.shape[-2:], 0.7))


def test_edges_become_straight() -> None:
    """A bumpy edge in an image that shows none: fewer wrong pixels, no new values."""
    rows, cols = torch.meshgrid(torch.arange(96.0), torch.arange(128.0), indexing="ij")
    truth = torch.where(cols < 64, 0.4, 1.2)
    bumpy = torch.where(cols < 64 + 4 * torch.sin(rows / 2).sign(), 0.4, 1.2)
    search = DefocusSearch(Estimate(bumpy, torch.full_like(bumpy, 1e4)), bumpy)
    steps = with_sharp_edges(search, torch.full((1, 96, 128), 0.5), PARAMETERS, 1e-6)
    found = finish(steps).defocus_map
    wrong, before = (float(((m - truth).abs() > 0.1).float().mean()) for m in (found, bumpy))
    assert wrong < 0.3 * before


def mean_square(difference: Tensor) -> float:
    return float(difference[..., 8:-8, 8:-8].square().mean())


def test_the_wiener_image_is_sharper_than_the_views(known: Any, problem: FitProblem) -> None:
    sharp = torch.from_numpy(known.scene.all_in_focus)
    blur = TiledBlur([problem.kernels.scaled(0.8)], problem.layout, blend_px=16)
    problem = replace(problem, views=blur(sharp[None])[0])
    plane = torch.full((96, 128), 0.8)
    scales = search_scales(problem, PARAMETERS.search, 16)
    images = [i.clone() for i in wiener_images(problem, plane, scales, PARAMETERS.wiener)]
    assert len(images) == 16
    captured = problem.views.mean(0)
    assert mean_square(images[-1] - sharp) < 0.8 * mean_square(captured - sharp)
