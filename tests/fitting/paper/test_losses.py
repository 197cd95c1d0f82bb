from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.ndimage import convolve
from torch import Tensor

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.paper import losses
from napari_dpdeblur.fitting.paper.losses import LossTerms, Rendering
from napari_dpdeblur.fitting.parameters.paper import LossParameters
from napari_dpdeblur.fitting.settings import Weights

PARAMETERS = LossParameters()
GAMMA = PARAMETERS.charbonnier_scale

PUBLISHED_TERMS = {
    "total": 257416.89,
    "data": 124266.489,
    "auxiliary": 127337.295,
    "intensity": 46.79932,
    "alpha": 5710.6477,
    "entropy": 55.658125,
}


# Mean over the layers, which the uniform start shows equally (reference/README.md).
MEAN_BIAS_OF_SCENE_005 = 9.734327e-06


def _evaluate(tile: Any, color_logits: Tensor, alpha_logits: Tensor) -> LossTerms:
    rendering = Rendering.of(
        color_logits.sigmoid(),
        alpha_logits.sigmoid(),
        tile.views,
        tile.blur,
        tile.bias,
        tile.intensity_scale,
        PARAMETERS,
    )
    return losses.evaluate(rendering, Weights().of_terms(12))


def test_terms_agree_with_the_published_implementation(published_tile: Any) -> None:
    tile = published_tile
    terms = _evaluate(tile, tile.color_logits, tile.alpha_logits).as_dict()
    assert terms == pytest.approx(PUBLISHED_TERMS, rel=1e-7)


def test_gradient_agrees_with_the_published_implementation(published_tile: Any) -> None:
    tile = published_tile
    logits = [tile.color_logits.clone(), tile.alpha_logits.clone()]
    for tensor in logits:
        tensor.requires_grad_()
    color, alpha = torch.autograd.grad(_evaluate(tile, *logits).total, logits)
    for gradient, published in ((color, tile.color_gradient), (alpha, tile.alpha_gradient)):
        error = torch.linalg.norm(gradient - published) / torch.linalg.norm(published)
        assert error < 2e-7  # the figures are stored in float32


def test_whole_scene_at_the_uniform_start(pixel4_data: Path) -> None:
    # Equal colours render to themselves whatever the kernels; only their bias is needed.
    folder = pixel4_data / "pixel4"
    capture = open_capture(folder / "005_left.png")
    views = torch.from_numpy(load_calibration(folder).prepare(capture)).double()
    views /= views.max()
    mean = views.mean()
    bias = torch.tensor(MEAN_BIAS_OF_SCENE_005).expand_as(views)
    data = losses.data(mean.expand_as(views), views, bias, 0.5 / float(mean), PARAMETERS)
    assert 2.5e4 * float(data) == pytest.approx(23010.94, rel=1e-6)


def test_local_variance_is_that_of_a_gaussian_window() -> None:
    image = torch.rand(2, 9, 7, dtype=torch.float64)
    window = torch.tensor([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).numpy() / 16
    for found, x in zip(losses.local_variance(image), image.numpy(), strict=True):
        mean_square = convolve(x**2, window, mode="nearest")
        expected = mean_square - convolve(x, window, mode="nearest") ** 2
        torch.testing.assert_close(found, torch.tensor(expected))


def test_local_variance_of_a_constant_is_zero_in_single_precision() -> None:
    image = torch.full((1, 8, 8), 0.7312)
    assert losses.local_variance(image).abs().max() == 0


def test_local_variance_is_never_negative() -> None:
    image = 1e3 + torch.rand(1, 64, 64)
    assert losses.local_variance(image).min() >= 0


def test_charbonnier_is_quadratic_near_zero_and_linear_far_out() -> None:
    small, large = torch.tensor([1e-4, 1e2], dtype=torch.float64)
    assert float(losses.charbonnier(small**2, GAMMA)) == pytest.approx(
        0.5 * (1e-4 / 0.1) ** 2, rel=1e-4
    )
    assert float(losses.charbonnier(large**2, GAMMA)) == pytest.approx(1e2 / 0.1, rel=2e-3)


def test_bias_lowers_the_charbonnier_value() -> None:
    square = torch.tensor(0.01)
    assert losses.charbonnier(square, GAMMA, 1e-3) < losses.charbonnier(square, GAMMA)


def test_perfect_rendering_without_bias_costs_nothing() -> None:
    views = torch.rand(2, 3, 5, 6)
    assert losses.data(views, views, torch.zeros(2, 1, 5, 6), 4.0, PARAMETERS) == 0
    layers = views.expand(4, -1, -1, -1, -1)
    shown, bias = torch.ones(4, 2, 1, 5, 6), torch.zeros(4)
    assert losses.auxiliary(layers, shown, views, bias, 4.0, PARAMETERS) == 0


def test_auxiliary_loss_treats_the_transmittance_as_a_constant() -> None:
    shown = torch.rand(3, 2, 1, 4, 4, requires_grad=True)
    color = torch.rand(3, 2, 1, 4, 4, requires_grad=True)
    views, bias = torch.rand(2, 1, 4, 4), torch.zeros(3)
    losses.auxiliary(color, shown, views, bias, 1.0, PARAMETERS).backward()
    assert shown.grad is None
    assert color.grad is not None


def test_intensity_smoothness_of_constant_layers_is_zero() -> None:
    color = torch.full((3, 3, 6, 6), 0.3)
    transmittance = torch.rand(3, 1, 6, 6)
    assert losses.intensity_smoothness(color[0], color, transmittance, 5.0, PARAMETERS) == 0


def test_one_channel_repeated_three_times_costs_the_same() -> None:
    color = torch.rand(3, 1, 6, 6, dtype=torch.float64)
    transmittance = torch.rand(3, 1, 6, 6, dtype=torch.float64)
    single = losses.intensity_smoothness(color[0], color, transmittance, 5.0, PARAMETERS)
    triple = color.expand(-1, 3, -1, -1)
    torch.testing.assert_close(
        losses.intensity_smoothness(triple[0], triple, transmittance, 5.0, PARAMETERS), single
    )


def test_alpha_edges_cost_half_where_the_image_has_edges() -> None:
    alpha = torch.rand(3, 1, 16, 16, dtype=torch.float64)
    flat = torch.zeros(1, 16, 16, dtype=torch.float64)
    busy = 1e3 * torch.rand(1, 16, 16, dtype=torch.float64)
    inside = losses.alpha_smoothness(alpha, alpha, flat, 1.0, PARAMETERS)
    across = losses.alpha_smoothness(alpha, alpha, busy, 1.0, PARAMETERS)
    torch.testing.assert_close(across, inside / 2)


def test_entropy_is_largest_for_equal_layers_and_zero_for_one_layer() -> None:
    layers = 5
    equal = torch.full((layers, 1, 2, 2), 1 / layers)
    one = torch.zeros(layers, 1, 2, 2)
    one[2] = 1
    most = losses.entropy(equal, equal, PARAMETERS)
    assert float(most) == pytest.approx(math.log(layers) + math.log(layers - 1), rel=1e-5)
    assert float(losses.entropy(one, one, PARAMETERS)) == pytest.approx(0, abs=1e-4)


def test_entropy_of_a_single_layer_is_zero() -> None:
    alpha = torch.ones(1, 1, 2, 2)
    assert losses.entropy(alpha, alpha, PARAMETERS) == 0


def test_gradient_stays_finite_at_transparent_layers() -> None:
    alpha = torch.zeros(4, 1, 6, 6, requires_grad=True)
    total = losses.entropy(alpha, alpha, PARAMETERS)
    total = total + losses.alpha_smoothness(alpha, alpha, torch.zeros(1, 6, 6), 1.0, PARAMETERS)
    (gradient,) = torch.autograd.grad(total, alpha)
    assert gradient.isfinite().all()


def test_published_entropy_weight_is_twelve_for_twelve_layers() -> None:
    assert Weights().of_terms(12)["entropy"] == pytest.approx(12.0729, rel=1e-5)


def test_terms_that_are_not_finite_raise_and_are_named() -> None:
    fine, broken = torch.tensor(1.0), torch.tensor(float("nan"))
    with pytest.raises(FitError, match="loss term 'alpha' became nan; check the capture"):
        LossTerms(data=fine, alpha=broken).as_dict()


def test_every_term_has_a_weight_and_every_weight_a_term() -> None:
    assert set(losses.TERMS) == set(Weights.model_fields)
