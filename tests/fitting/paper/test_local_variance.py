from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.fitting.paper.local_variance import GRADIENT_UNIT, VARIANCE_UNIT, LocalVariance
from napari_dpdeblur.fitting.paper.losses import local_variance

SHAPES = [(2, 7, 9), (1, 1, 5), (1, 5, 1), (3, 2, 2), (1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_value_and_gradient_equal_those_of_the_plain_formula(shape: tuple[int, ...]) -> None:
    image = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    outer = torch.rand(shape, dtype=torch.float64)
    expected = local_variance(image)
    (expected_gradient,) = torch.autograd.grad((expected * outer).sum(), image)
    with torch.no_grad():
        fast = LocalVariance(image)
        gradient = fast.gradient(outer) * (VARIANCE_UNIT * GRADIENT_UNIT)
    torch.testing.assert_close(fast.value * VARIANCE_UNIT, expected.detach())
    torch.testing.assert_close(gradient, expected_gradient)


def test_constant_has_no_variance_in_single_precision() -> None:
    assert LocalVariance(torch.full((1, 8, 8), 0.7312)).value.abs().max() == 0
