from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.layers import even_layers, inpaint, weights_of_layers
from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.optics.mpi import transmittance, visibility

SCALES = torch.linspace(1.4, 0.1, 12, dtype=torch.float64)


@pytest.fixture
def stepped_map() -> Tensor:
    """A slanted ground with a nearer square in its middle: (40, 60)."""
    ground = torch.linspace(1.3, 0.9, 60, dtype=torch.float64).expand(40, 60).clone()
    ground[12:28, 20:40] = 0.3
    return ground


def weights_of(values: Tensor) -> Tensor:
    return torch.stack(list(weights_of_layers(values, SCALES)))


def layers_of(defocus_map: Tensor, image: Tensor | None = None) -> MultiplaneImage:
    """Layers of a map, computed one by one when they are used."""
    shown = torch.rand(3, 40, 60, dtype=torch.float64) if image is None else image
    return even_layers(shown, defocus_map, SCALES, (6, 6), 1.5, (40, 60))


def hidden_of(defocus_map: Tensor) -> np.ndarray:
    """What continues behind nearer parts: (L, 40, 60)."""
    alpha = layers_of(defocus_map).alpha
    return np.stack([layer[0] - alpha.visible(k) for k, layer in enumerate(alpha)])


def test_weights_interpolate_exactly() -> None:
    values = torch.rand(20, 30, dtype=torch.float64) * 1.3 + 0.1
    weights = weights_of(values)
    torch.testing.assert_close(weights.sum(0), torch.ones_like(weights[0]))
    torch.testing.assert_close((weights[:, 0] * SCALES[:, None, None]).sum(0), values)
    assert int((weights > 1e-12).sum(0).max()) <= 2
    assert float(weights.min()) >= 0


def test_values_outside_the_layers_go_to_the_nearest() -> None:
    weights = weights_of(torch.tensor([[5.0, -1.0]], dtype=torch.float64))
    assert torch.equal(weights[:, 0, 0, 0].nonzero().flatten(), torch.tensor([0]))
    assert torch.equal(weights[:, 0, 0, 1].nonzero().flatten(), torch.tensor([11]))


def test_layers_show_the_map(stepped_map: Tensor) -> None:
    alpha = np.asarray(layers_of(stepped_map).alpha)
    shares = transmittance(alpha)[:, 0]
    composite = (shares * SCALES.numpy()[:, None, None]).sum(0)
    np.testing.assert_allclose(composite, stepped_map, atol=1e-6)
    np.testing.assert_allclose(shares.sum(0), 1, atol=1e-6)
    assert (alpha[0] == 1).all()
    assert 0 <= alpha.min() <= alpha.max() <= 1


def test_what_is_hidden_is_never_visible(stepped_map: Tensor) -> None:
    alpha = np.asarray(layers_of(stepped_map).alpha)
    hidden = hidden_of(stepped_map)
    assert hidden[1:].any(), "the ground goes on behind the square"
    assert np.abs(hidden * visibility(alpha)[:, 0]).max() < 1e-6


def test_the_ground_goes_on_behind_the_square(stepped_map: Tensor) -> None:
    behind = hidden_of(stepped_map)[1:].sum(0)
    assert (behind[12:28, 20:26] > 0).all()
    assert not behind[19:21, 29:31].any(), "only as far as light can come round the edge"
    assert not behind[:12].any()


def test_colours_make_the_image(stepped_map: Tensor) -> None:
    image = torch.rand(3, 40, 60, dtype=torch.float64)
    np.testing.assert_allclose(layers_of(stepped_map, image).all_in_focus(), image, atol=1e-6)


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
