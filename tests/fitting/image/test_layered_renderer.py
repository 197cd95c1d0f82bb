from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from counting_control import CountingControl
from torch import Tensor

from napari_dpdeblur.cancellation import obeying
from napari_dpdeblur.fitting.image.layered_renderer import (
    LayeredRenderer,
    SmoothnessWeights,
    sharpen_round,
)
from napari_dpdeblur.fitting.image.layers import LayerShapes, layer_shapes
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import MultiplaneImage, TiledBlur, TileLayout

SCALES = torch.linspace(1.4, 0.1, 6, dtype=torch.float64)
BLEND_PX = 8
PARAMETERS = Parameters()


@pytest.fixture
def posed(simulated: Callable[..., Any]) -> tuple[FitProblem, LayerShapes, Tensor]:
    """A problem in double precision with the layers of its true map, and the true image."""
    known = simulated(48, 64, channels=3)
    calibration = known.calibration
    grid = calibration.kernel_grid()
    layout = TileLayout.regular(48, 64, grid.rows, grid.cols)
    views = torch.from_numpy(known.capture.views.copy()).double()
    problem = FitProblem(views, grid.to(dtype=torch.float64), layout, (1, 1), (48, 64), 1.0)
    defocus_map = torch.from_numpy(known.scene.defocus_map).double()
    sharp = torch.from_numpy(known.scene.all_in_focus).double()
    return problem, layer_shapes(defocus_map, SCALES, (6, 6), 1.5), sharp


def renderer_of(problem: FitProblem, shapes: LayerShapes) -> LayeredRenderer:
    light = PARAMETERS.renderer.negligible_light
    return LayeredRenderer(problem, SCALES, shapes, BLEND_PX, light)


def test_adjoint_identity(posed: Any) -> None:
    problem, shapes, _ = posed
    renderer = renderer_of(problem, shapes)
    image, views = (
        torch.randn(size, dtype=torch.float64) for size in ((3, 48, 64), (2, 3, 48, 64))
    )
    forward = (renderer.visible(image) * views).sum()
    backward = (renderer.visible_adjoint(views) * image).sum()
    assert float(forward) == pytest.approx(float(backward), rel=1e-10)


def test_agrees_with_the_multiplane_image(posed: Any) -> None:
    problem, shapes, sharp = posed
    renderer = renderer_of(problem, shapes)
    blur = TiledBlur(problem.layer_kernels(SCALES), problem.layout, BLEND_PX)
    layers = MultiplaneImage(shapes.color(sharp), shapes.alpha, SCALES)
    found = renderer.visible(sharp) + renderer.hidden(sharp)
    # light that is too weak to see is left out of whole tiles
    torch.testing.assert_close(found, layers.render(blur), rtol=0, atol=0.01)


def test_a_check_between_the_layers(posed: Any) -> None:
    problem, shapes, sharp = posed
    renderer = renderer_of(problem, shapes)
    control = CountingControl()
    with obeying(control):
        renderer.visible(sharp)
    assert control.checks >= len(SCALES)


@pytest.mark.parametrize("pixel_pitch", [(1, 1), (2, 1)])
def test_smoothness_is_symmetric_with_its_diagonal(pixel_pitch: tuple[int, int]) -> None:
    weights = SmoothnessWeights(torch.rand(2, 5, 6, dtype=torch.float64), 0.01, pixel_pitch, 0.02)
    units = torch.eye(60, dtype=torch.float64).reshape(60, 2, 5, 6)
    matrix = torch.stack([weights.gradient(unit).flatten() for unit in units])
    torch.testing.assert_close(matrix, matrix.T)
    diagonal = weights.diagonal().expand(2, 5, 6).flatten()
    torch.testing.assert_close(matrix.diagonal(), diagonal)
    assert float(torch.linalg.eigvalsh(matrix).min()) > -1e-12
    constant = torch.ones(2, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(weights.gradient(constant), torch.zeros_like(constant))


def test_rounds_explain_the_views_better(posed: Any) -> None:
    problem, shapes, sharp = posed
    renderer = renderer_of(problem, shapes)
    views = renderer.visible(sharp) + renderer.hidden(sharp)
    problem = replace(problem, views=views)
    start = views.mean(0)
    image, errors = start, []
    for _ in range(3):
        for step in sharpen_round(renderer, problem, image, 8, PARAMETERS.renderer, 0.01):
            image = step[0]
            errors.append(step[1]["data"])
    assert errors[-1] < 0.1 * errors[0]
    before, after = ((a - sharp).square().mean() for a in (start, image))
    assert float(after) < 0.7 * float(before)
