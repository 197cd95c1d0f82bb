from __future__ import annotations

import pytest
import torch
from counting_control import CountingControl
from torch import Tensor

from napari_dpdeblur.cancellation import obeying
from napari_dpdeblur.fitting.image import layers
from napari_dpdeblur.fitting.image.layers import (
    alpha_of_transmittance,
    inpaint,
    layer_shapes,
    layer_weights,
)
from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.optics.mpi import visibility

SCALES = torch.linspace(1.4, 0.1, 12, dtype=torch.float64)


@pytest.fixture
def stepped_map() -> Tensor:
    """A slanted ground with a nearer square in its middle: (40, 60)."""
    ground = torch.linspace(1.3, 0.9, 60, dtype=torch.float64).expand(40, 60).clone()
    ground[12:28, 20:40] = 0.3
    return ground


def test_weights_interpolate_exactly() -> None:
    values = torch.rand(20, 30, dtype=torch.float64) * 1.3 + 0.1
    weights = layer_weights(values, SCALES)
    torch.testing.assert_close(weights.sum(0), torch.ones_like(weights[0]))
    torch.testing.assert_close((weights[:, 0] * SCALES[:, None, None]).sum(0), values)
    assert int((weights > 1e-12).sum(0).max()) <= 2
    assert float(weights.min()) >= 0


def test_values_outside_the_layers_go_to_the_nearest() -> None:
    weights = layer_weights(torch.tensor([[5.0, -1.0]], dtype=torch.float64), SCALES)
    assert torch.equal(weights[:, 0, 0, 0].nonzero().flatten(), torch.tensor([0]))
    assert torch.equal(weights[:, 0, 0, 1].nonzero().flatten(), torch.tensor([11]))


def test_alpha_and_transmittance_belong_together() -> None:
    shares = torch.rand(5, 1, 6, 7, dtype=torch.float64).softmax(0)
    alpha = alpha_of_transmittance(shares)
    assert torch.all(alpha[0] == 1)
    torch.testing.assert_close(alpha * visibility(alpha), shares)


def test_layers_show_the_map(stepped_map: Tensor) -> None:
    shapes = layer_shapes(stepped_map, SCALES, (6, 6), 1.5)
    torch.testing.assert_close(shapes.defocus_map(SCALES), stepped_map)
    torch.testing.assert_close(
        shapes.defocus_map(torch.ones_like(SCALES)), torch.ones(40, 60).double()
    )
    assert torch.all(shapes.alpha[0] == 1)
    assert 0 <= float(shapes.alpha.min()) <= float(shapes.alpha.max()) <= 1


def test_layers_are_the_same_in_strips(
    stepped_map: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = layer_shapes(stepped_map, SCALES, (6, 6), 1.5)
    control = CountingControl()
    monkeypatch.setattr(layers, "STRIP_PIXELS", 7 * 60)
    with obeying(control):
        strips = layer_shapes(stepped_map, SCALES, (6, 6), 1.5)
    assert control.checks == 7
    for name in ("visible", "hidden", "background"):
        assert torch.equal(getattr(strips, name), getattr(whole, name))
    assert torch.equal(strips.defocus_map(SCALES), whole.defocus_map(SCALES))


def test_what_is_hidden_is_never_visible(stepped_map: Tensor) -> None:
    shapes = layer_shapes(stepped_map, SCALES, (6, 6), 1.5)
    assert shapes.hidden[1:].any(), "the ground goes on behind the square"
    seen = shapes.hidden * visibility(shapes.alpha)
    assert float(seen.abs().max()) < 1e-12
    assert not (shapes.visible * shapes.hidden).any()


def test_the_ground_goes_on_behind_the_square(stepped_map: Tensor) -> None:
    behind = layer_shapes(stepped_map, SCALES, (6, 6), 1.5).hidden[1:].sum(0)[0]
    assert torch.all(behind[12:28, 20:26] > 0)
    assert not behind[19:21, 29:31].any(), "only as far as light can come round the edge"
    assert not behind[:12].any()


def test_colours_make_the_image(stepped_map: Tensor) -> None:
    image = torch.rand(3, 40, 60, dtype=torch.float64)
    shapes = layer_shapes(stepped_map, SCALES, (6, 6), 1.5)
    shown = MultiplaneImage(shapes.color(image), shapes.alpha, SCALES).all_in_focus()
    torch.testing.assert_close(shown, image)


def test_inpainting_keeps_what_is_known() -> None:
    image = torch.rand(3, 37, 50, dtype=torch.float64)
    known = torch.ones(1, 37, 50, dtype=torch.float64)
    assert torch.equal(inpaint(image, known), image)
    known[:, 10:25, 15:40] = 0
    filled = inpaint(image, known)
    assert torch.equal(filled * known, image * known)
    hole = filled[:, 10:25, 15:40]
    assert float(image.min()) <= float(hole.min()) <= float(hole.max()) <= float(image.max())


def test_inpainting_continues_its_surroundings() -> None:
    image = torch.full((1, 32, 32), 0.8, dtype=torch.float64)
    image[:, 10:20, 10:20] = 0.1  # the occluder must not shine through
    known = (image > 0.5).to(image.dtype)
    torch.testing.assert_close(inpaint(image, known), torch.full_like(image, 0.8))
