"""The gradient is that of the definition, and the term does what it is for."""

from __future__ import annotations

import pytest
import torch
from new_loss import IndecisionGradient, indecision

from napari_dpdeblur.fitting.paper import losses
from napari_dpdeblur.fitting.paper.adam import PaperState, Schedule, descend
from napari_dpdeblur.fitting.paper.losses import Rendering
from napari_dpdeblur.fitting.paper.objective import Objective
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

LAYERS, HEIGHT, WIDTH = 3, 20, 24
WEIGHT = 50.0
PARAMETERS, WEIGHTS = Parameters(), Weights().of_terms(LAYERS)


@pytest.fixture
def views():
    torch.manual_seed(0)
    torch.set_num_threads(1)  # at this size threads cost more than they bring
    return torch.rand(2, 1, HEIGHT, WIDTH, dtype=torch.float64)


@pytest.fixture
def blur():
    kernels = torch.rand(4, 2, 3, 3, dtype=torch.float64)
    grid = KernelGrid(kernels / kernels.sum((-2, -1), keepdim=True), 2, 2)
    return TiledBlur([grid] * LAYERS, TileLayout.regular(HEIGHT, WIDTH, 2, 2))


def objective_with(views, blur, weight):
    objective = Objective(views, blur, WEIGHTS, PARAMETERS.losses)
    objective.parts.append(IndecisionGradient(weight))
    return objective


def test_the_gradient_is_that_of_the_definition(views, blur):
    color = torch.rand(LAYERS, 1, HEIGHT, WIDTH, dtype=torch.float64, requires_grad=True)
    alpha = torch.rand(LAYERS, 1, HEIGHT, WIDTH, dtype=torch.float64)
    alpha[0] = 1
    alpha.requires_grad_()
    objective = objective_with(views, blur, WEIGHT)
    found, color_gradient, alpha_gradient = objective.layer_gradient(color.detach(), alpha.detach())

    scale, bias = objective.intensity_scale, torch.zeros(LAYERS, dtype=torch.float64)
    rendering = Rendering.of(color, alpha, views, blur, bias, scale, PARAMETERS.losses)
    expected = WEIGHT * indecision(rendering)
    total = losses.evaluate(rendering, WEIGHTS).total + expected
    total.backward()
    torch.testing.assert_close(found.total, total.detach(), rtol=1e-10, atol=0)
    torch.testing.assert_close(color_gradient, color.grad, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(alpha_gradient[1:], alpha.grad[1:], rtol=1e-8, atol=1e-10)
    assert found.as_dict()["indecision"] == pytest.approx(float(expected.detach()))


def test_layers_decide(views, blur):
    left = {}
    for weight in (0.0, 5e4):
        objective = objective_with(views, blur, weight)
        state = PaperState.uniform(views, LAYERS, PARAMETERS.paper)
        for _ in descend(objective, state, Schedule(10, PARAMETERS.paper)):
            pass
        alpha = state.layers()[1]
        left[weight] = float((alpha * (1 - alpha)).mean())
    assert left[5e4] < 0.8 * left[0.0]
