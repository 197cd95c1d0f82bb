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
    deconvolution_scales,
    on_grid_of,
    search_cost_volume,
    search_factor,
    search_scales,
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


def test_scales_fall_evenly_from_behind_to_in_front(problem: FitProblem) -> None:
    scales = search_scales(problem, PARAMETERS.search, "both")
    assert len(scales) == PARAMETERS.search.signed_scales
    torch.testing.assert_close(scales, -scales.flip(0))
    assert float(scales.abs().min()) < 1e-6, "the focus plane is one of them"
    torch.testing.assert_close(scales.diff(), scales.diff().mean().expand(len(scales) - 1))


def test_scales_of_one_side_end_at_the_focus(problem: FitProblem) -> None:
    scales = search_scales(problem, PARAMETERS.search, "behind")
    assert len(scales) == PARAMETERS.search.scales
    assert float(scales[0]) > 1.4
    assert 0 < float(scales[-1]) < 0.1


@pytest.mark.parametrize(("low", "high"), [(-0.73, 0.42), (0.31, 1.2), (0.5, 0.5), (-0.9, -0.9)])
def test_deconvolution_scales_bracket_the_map(low: float, high: float) -> None:
    scales = deconvolution_scales(torch.tensor([[low, high]]), 0.1)
    assert len(scales) >= 2
    assert float(scales[0]) >= high - 1e-6
    assert float(scales[-1]) <= low + 1e-6
    assert float(scales[0]) < high + 0.2
    assert float(scales[-1]) > low - 0.2
    torch.testing.assert_close(scales / 0.1, (scales / 0.1).round())


def test_the_cost_volume_has_all_scales(problem: FitProblem) -> None:
    coarse = problem.reduced(search_factor(problem, PARAMETERS.search))
    scales = search_scales(problem, PARAMETERS.search, "both")
    steps = search_cost_volume(coarse, scales, PARAMETERS.cost_volume, True)
    count = 0
    while True:
        try:
            next(steps)
            count += 1
        except StopIteration as end:
            volume = end.value
            break
    assert count == len(scales)
    assert volume.cost.shape == (len(scales), *coarse.views.shape[-2:])
    assert float(volume.cost.min()) >= 0
    assert torch.isfinite(volume.cost).all()


@pytest.mark.parametrize(
    ("low", "high"), [(0.3, 1.2), (0.05, 1.6), (0.7, 0.7), (0.0, 0.0), (-0.2, 0.5)]
)
def test_the_range_brackets_the_map(low: float, high: float) -> None:
    values = torch.linspace(low, high, 10_000).reshape(100, 100)
    back, front = automatic_range(values, PARAMETERS.search, "both")
    assert back - front >= 0.1 - 1e-6
    assert low - 0.1 <= front <= low + 0.01
    assert high - 0.01 <= back <= high + 0.1


def test_one_side_alone_has_no_layers_in_front() -> None:
    values = torch.linspace(-0.2, 0.5, 10_000).reshape(100, 100)
    back, front = automatic_range(values, PARAMETERS.search, "behind")
    assert 0 < front < 0.1 < back


def test_rare_values_do_not_stretch_the_range() -> None:
    values = torch.full((100, 100), 0.6)
    values[:50] = 0.9
    values[0, :5], values[0, 5:10] = 4.0, 0.01
    back, front = automatic_range(values, PARAMETERS.search, "both")
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
    blur = TiledBlur([problem.kernels_at(0.8)], problem.layout, blend_px=16)
    problem = replace(problem, views=blur(sharp[None])[0])
    plane = torch.full((96, 128), 0.8)
    scales = deconvolution_scales(plane, PARAMETERS.wiener.scale_step)
    images = [i.clone() for i in wiener_images(problem, plane, scales, PARAMETERS.wiener)]
    assert len(images) == len(scales)
    captured = problem.views.mean(0)
    assert mean_square(images[-1] - sharp) < 0.8 * mean_square(captured - sharp)
