from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.paper import losses
from napari_dpdeblur.fitting.paper.losses import LossTerms, Rendering
from napari_dpdeblur.fitting.paper.objective import Objective
from napari_dpdeblur.fitting.parameters.paper import LossParameters
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

PARAMETERS = LossParameters()
PUBLISHED = Weights().of_terms(12)
WEIGHTS = {
    "all": PUBLISHED,
    **{f"no {name}": {**PUBLISHED, name: 0.0} for name in PUBLISHED},
    **{
        f"only {name}": dict.fromkeys(PUBLISHED, 0.0) | {name: PUBLISHED[name]}
        for name in PUBLISHED
    },
}


class Problem:
    """A small random fit on 2 x 3 tiles whose kernels grow towards the back."""

    def __init__(self, layers: int = 4, channels: int = 1, height: int = 70, width: int = 23):
        shape = (layers, channels, height, width)
        self.views = torch.rand(2, *shape[1:], dtype=torch.float64)
        self.color_logits = 4 * torch.rand(shape, dtype=torch.float64) - 2
        self.alpha_logits = 4 * torch.rand(layers, 1, height, width, dtype=torch.float64) - 2
        self.bias = 1e-4 * torch.rand(layers, dtype=torch.float64)
        kernels = [_random_kernels(2 * (layers - i) + 1) for i in range(layers)]
        self.blur = TiledBlur(kernels, TileLayout.regular(height, width, 2, 3), blend_px=4)

    def objective(self, **options: Any) -> Objective:
        weights = options.pop("weights", Weights().of_terms(len(self.blur)))
        options = {"bias": self.bias, **options}
        return Objective(self.views, self.blur, weights, PARAMETERS, **options)

    def autograd(self, weights: dict[str, float], bias: Tensor) -> tuple[LossTerms, Tensor, Tensor]:
        color, alpha = self.color_logits.clone(), self.alpha_logits.clone()
        color.requires_grad_()
        alpha.requires_grad_()
        opaque = torch.cat([torch.ones_like(alpha[:1]), alpha[1:].sigmoid()])
        scale = 0.5 / float(self.views.mean())
        args = (self.views, self.blur, bias, scale, PARAMETERS)
        rendering = Rendering.of(color.sigmoid(), opaque, *args)
        terms = losses.evaluate(rendering, weights)
        (0 * (color.sum() + alpha.sum()) + terms.total).backward()
        return terms, color.grad, alpha.grad  # type: ignore[return-value]


def _random_kernels(size: int) -> KernelGrid:
    kernels = torch.rand(6, 2, size, size, dtype=torch.float64)
    return KernelGrid(kernels / kernels.sum(dim=(-2, -1), keepdim=True), 2, 3)


def _assert_same(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    assert found[0].as_dict() == pytest.approx(expected[0].as_dict(), rel=tolerance)
    for gradient, reference in zip(found[1:], expected[1:], strict=True):
        error = torch.linalg.norm(gradient - reference)
        assert error <= tolerance * torch.linalg.norm(reference)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("channels", [1, 3])
def test_equals_automatic_differentiation(name: str, channels: int) -> None:
    problem = Problem(channels=channels)
    found = problem.objective(weights=WEIGHTS[name]).loss_and_gradient(
        problem.color_logits, problem.alpha_logits
    )
    _assert_same(found, problem.autograd(WEIGHTS[name], problem.bias))


@pytest.mark.parametrize(
    ("layers", "height", "width"), [(1, 20, 12), (2, 9, 11), (3, 131, 6), (24, 8, 9)]
)
def test_any_number_of_layers_and_any_size(layers: int, height: int, width: int) -> None:
    problem = Problem(layers, 1, height, width)
    weights = Weights().of_terms(layers)
    found = problem.objective().loss_and_gradient(problem.color_logits, problem.alpha_logits)
    _assert_same(found, problem.autograd(weights, problem.bias))


def test_bias_correction_can_be_switched_off() -> None:
    problem = Problem()
    logits = (problem.color_logits, problem.alpha_logits)
    found = problem.objective(bias=None, weights=PUBLISHED).loss_and_gradient(*logits)
    _assert_same(found, problem.autograd(PUBLISHED, torch.zeros_like(problem.bias)))
    assert found[0]["data"] > problem.objective().loss_and_gradient(*logits)[0]["data"]


def test_agrees_with_the_published_implementation(published_tile: Any) -> None:
    tile = published_tile
    objective = Objective(tile.views, tile.blur, PUBLISHED, PARAMETERS, tile.bias)
    terms, color, alpha = objective.loss_and_gradient(tile.color_logits, tile.alpha_logits)
    assert terms.as_dict()["total"] == pytest.approx(257416.89, rel=1e-6)
    assert float(torch.linalg.norm(color)) == pytest.approx(1276.1625, rel=1e-6)
    assert float(torch.linalg.norm(alpha)) == pytest.approx(234.39988, rel=1e-6)
    for gradient, published in ((color, tile.color_gradient), (alpha, tile.alpha_gradient)):
        error = torch.linalg.norm(gradient - published) / torch.linalg.norm(published)
        assert error < 1e-6


def test_single_precision_is_close_to_double_precision(published_tile: Any) -> None:
    tile = published_tile
    kernels = [grid.to(dtype=torch.float32) for grid in tile.kernels]
    blur = TiledBlur(kernels, tile.blur.layout, blend_px=0)
    objective = Objective(tile.views.float(), blur, PUBLISHED, PARAMETERS, tile.bias)
    terms, color, _ = objective.loss_and_gradient(
        tile.color_logits.float(), tile.alpha_logits.float()
    )
    assert color.dtype == torch.float32
    assert terms.as_dict()["total"] == pytest.approx(257416.89, rel=1e-4)
    error = torch.linalg.norm(color - tile.color_gradient) / torch.linalg.norm(color)
    assert error < 1e-4


def test_uniform_layers_cost_no_smoothness_in_single_precision() -> None:
    problem = Problem()
    kernels = [_random_kernels(5).to(dtype=torch.float32) for _ in range(4)]
    blur = TiledBlur(kernels, problem.blur.layout, blend_px=0)
    uniform = torch.full((4, 1, 70, 23), -1.234)
    objective = Objective(problem.views.float(), blur, PUBLISHED, PARAMETERS)
    terms, _, _ = objective.loss_and_gradient(uniform, uniform)
    assert terms["intensity"] == 0
    assert terms["alpha"] == 0


def test_inputs_are_left_alone_and_the_back_layer_stays_opaque() -> None:
    problem = Problem()
    color, alpha = problem.color_logits.clone(), problem.alpha_logits.clone()
    _, _, gradient = problem.objective().loss_and_gradient(color, alpha)
    assert torch.equal(color, problem.color_logits)
    assert torch.equal(alpha, problem.alpha_logits)
    assert gradient[0].abs().max() == 0


def test_saturated_alphas_have_finite_gradients() -> None:
    problem = Problem()
    for extreme in (-1e9, 1e9):
        alpha = torch.full_like(problem.alpha_logits, extreme)
        _, *gradients = problem.objective().loss_and_gradient(problem.color_logits, alpha)
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_gradient_to_layers_needs_no_logits() -> None:
    problem = Problem()
    color, alpha = problem.color_logits.sigmoid(), problem.alpha_logits.sigmoid()
    alpha[0] = 1
    objective = problem.objective()
    terms, slope, _ = objective.layer_gradient(color, alpha)
    expected, gradient, _ = objective.loss_and_gradient(problem.color_logits, problem.alpha_logits)
    assert terms.as_dict() == pytest.approx(expected.as_dict())
    torch.testing.assert_close(slope * color * (1 - color), gradient)


def test_runs_on_another_device_without_a_stray_tensor() -> None:
    # The meta device refuses to mix with tensors of the CPU, as an accelerator does.
    problem = Problem(channels=3)
    kernels = [_random_kernels(5).to(device="meta") for _ in range(4)]
    blur = TiledBlur(kernels, problem.blur.layout, blend_px=4)
    objective = Objective(
        problem.views.to("meta"), blur, PUBLISHED, PARAMETERS, intensity_scale=2.0
    )
    logits = (problem.color_logits.to("meta"), problem.alpha_logits.to("meta"))
    terms, *gradients = objective.loss_and_gradient(*logits)
    assert terms.total.is_meta
    assert [gradient.shape for gradient in gradients] == [tensor.shape for tensor in logits]


def test_black_views_are_refused() -> None:
    problem = Problem()
    problem.views = torch.zeros_like(problem.views)
    with pytest.raises(FitError, match="views are black or not finite; the fit needs a brighter"):
        problem.objective()


def test_a_loss_that_is_not_finite_stops_the_fit() -> None:
    problem = Problem()
    problem.color_logits[0, 0, 0, 0] = float("nan")
    with pytest.raises(FitError, match="The loss term 'data' became nan"):
        problem.objective().loss_and_gradient(problem.color_logits, problem.alpha_logits)
