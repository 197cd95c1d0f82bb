from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.optics import KernelGrid, MultiplaneImage, TiledBlur, TileLayout

Kernels = Callable[..., KernelGrid]
SCALES = torch.tensor([1.3, 0.9, 0.5, 0.1], dtype=torch.float64)


def _random_mpi(channels: int = 3, height: int = 12, width: int = 14) -> MultiplaneImage:
    color = torch.rand(4, channels, height, width, dtype=torch.float64)
    alpha = torch.rand(4, 1, height, width, dtype=torch.float64)
    alpha[0] = 1
    return MultiplaneImage(color, alpha, SCALES)


def test_transmittances_sum_to_one() -> None:
    total = _random_mpi().transmittance().sum(0)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_visibility_is_what_the_layers_before_leave_free() -> None:
    mpi = _random_mpi()
    clear = 1 - mpi.alpha
    visibility = mpi.visibility()
    torch.testing.assert_close(visibility[0], clear[1] * clear[2] * clear[3])
    torch.testing.assert_close(visibility[2], clear[3])
    assert torch.all(visibility[3] == 1)


def test_an_opaque_front_layer_hides_the_others() -> None:
    mpi = _random_mpi()
    mpi.alpha[3] = 1
    torch.testing.assert_close(mpi.all_in_focus(), mpi.color[3])
    torch.testing.assert_close(mpi.defocus_map(), torch.full((12, 14), 0.1, dtype=torch.float64))


def test_defocus_map_lies_between_the_scales() -> None:
    defocus = _random_mpi().defocus_map()
    assert defocus.shape == (12, 14)
    assert 0.1 <= float(defocus.min()) <= float(defocus.max()) <= 1.3


def test_one_opaque_layer_renders_to_a_plain_blur(random_kernels: Kernels) -> None:
    color = torch.rand(1, 3, 12, 14, dtype=torch.float64)
    mpi = MultiplaneImage(color, torch.ones(1, 1, 12, 14, dtype=torch.float64), SCALES[:1])
    blur = TiledBlur([random_kernels(2, 2, 5)], TileLayout.regular(12, 14, 2, 2), blend_px=4)
    torch.testing.assert_close(mpi.render(blur), blur(color)[0])


@pytest.mark.parametrize("blend_px", [0, 4])
def test_delta_kernels_render_to_the_composite(blend_px: int) -> None:
    delta = torch.zeros(4, 2, 3, 3, dtype=torch.float64)
    delta[..., 1, 1] = 1
    blur = TiledBlur([KernelGrid(delta, 2, 2)] * 4, TileLayout.regular(12, 14, 2, 2), blend_px)
    mpi = _random_mpi()
    rendered = mpi.render(blur)
    assert rendered.shape == (2, 3, 12, 14)
    torch.testing.assert_close(rendered, mpi.all_in_focus().expand(2, -1, -1, -1))


def test_equal_colours_render_to_that_colour(random_kernels: Kernels) -> None:
    mpi = _random_mpi()
    mpi.color.fill_(0.4)
    kernels = [random_kernels(2, 2, size) for size in (9, 7, 5, 3)]
    rendered = mpi.render(TiledBlur(kernels, TileLayout.regular(12, 14, 2, 2)))
    torch.testing.assert_close(rendered, torch.full_like(rendered, 0.4))


def test_rendering_is_differentiable(random_kernels: Kernels) -> None:
    kernels = [random_kernels(1, 2, size) for size in (5, 3)]
    blur = TiledBlur(kernels, TileLayout.regular(4, 5, 1, 2), blend_px=2)
    color = torch.rand(2, 1, 4, 5, dtype=torch.float64, requires_grad=True)
    alpha = torch.rand(2, 1, 4, 5, dtype=torch.float64, requires_grad=True)

    def render(color: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
        return MultiplaneImage(color, alpha, SCALES[:2]).render(blur)

    assert torch.autograd.gradcheck(render, (color, alpha))


def _slanted(library: Any) -> MultiplaneImage:
    """An opaque slanted layer and a half-transparent flat one, as arrays or tensors."""
    random = np.random.default_rng(0)
    alpha = np.ones((2, 1, 8, 12), np.float32)
    alpha[1] = 0.5 * (random.random((1, 8, 12)) > 0.5)
    defocus = np.empty_like(alpha)
    defocus[0, 0] = np.linspace(1.2, 0.6, 12)
    defocus[1] = 0.2
    color = random.random((2, 3, 8, 12)).astype(np.float32)
    arrays = (color, alpha, np.float32([0.9, 0.2]), defocus)
    return MultiplaneImage(*(a if library is np else torch.from_numpy(a) for a in arrays))


def test_hidden_is_what_nearer_layers_cover() -> None:
    mpi = _slanted(np)
    np.testing.assert_allclose(mpi.hidden()[0], mpi.alpha[1], atol=1e-6)
    np.testing.assert_array_equal(mpi.hidden()[1], 0)
