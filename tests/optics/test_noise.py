from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from napari_dpdeblur.optics import KernelGrid, bias_correction
from napari_dpdeblur.optics.noise import difference_noise

# Of the published implementation for the whole of scene 005, back to front (reference/README.md).
PUBLISHED_BIAS = [
    1.172341e-05, 1.167675e-05, 1.161343e-05, 1.152893e-05, 1.140753e-05, 1.123121e-05,
    1.095866e-05, 1.050463e-05, 9.758979e-06, 8.365779e-06, 5.686740e-06, 2.355871e-06,
]  # fmt: skip


def test_bias_of_the_published_tile(pixel4_data: Path) -> None:
    path = pixel4_data / "reference" / "objective_tile_2_3_scene_005.npz"
    if not path.exists():
        pytest.skip(f"no figures of the published implementation: {path.name} is missing")
    with np.load(path) as file:
        kernels = torch.tensor(file["layer_kernels"], dtype=torch.float64)
        expected, mean = torch.tensor(file["bias"]), float(file["views"].mean())
    grids = [KernelGrid(layer, 1, 1) for layer in kernels]
    torch.testing.assert_close(bias_correction(grids, mean), expected, rtol=1e-6, atol=0)


def test_sharper_layers_are_corrected_less(published_kernels: KernelGrid) -> None:
    bias = bias_correction([published_kernels.scaled(float(s)) for s in np.linspace(1.3, 0.1, 12)])
    assert torch.all(bias.diff() < 0)


def test_shape_of_the_correction_for_the_published_scene(published_kernels: KernelGrid) -> None:
    # The scene's mean is not part of the figures: compare the course over the layers. Kernels of a
    # few pixels, the last two, were resized less sharply there.
    bias = bias_correction([published_kernels.scaled(float(s)) for s in np.linspace(1.3, 0.1, 12)])
    published = torch.tensor(PUBLISHED_BIAS)
    found, expected = bias / bias[0], published / published[0]
    torch.testing.assert_close(found[:10], expected[:10], rtol=0.02, atol=0)


def test_no_blur_leaves_the_two_views_of_a_flat_spectrum() -> None:
    delta = torch.zeros(1, 2, 5, 5, dtype=torch.float64)
    delta[..., 2, 2] = 1
    bias = bias_correction([KernelGrid(delta, 1, 1)])
    assert float(bias) == pytest.approx(5e-5 * 5e-3 / (2 + 5e-3))


def test_correction_is_in_the_unit_of_the_views(
    random_kernels: Callable[..., KernelGrid],
) -> None:
    grids = [random_kernels(2, 2, 7)]
    torch.testing.assert_close(bias_correction(grids, 0.1), bias_correction(grids, 0.5) / 5)


def test_the_noise_of_the_views_is_that_which_they_do_not_share() -> None:
    source = torch.Generator().manual_seed(0)
    scene = torch.rand(200, 300, generator=source)
    left, right = (scene + 0.01 * torch.randn(200, 300, generator=source) for _ in range(2))
    assert difference_noise(left, right) == pytest.approx(1e-4, rel=0.05)
    assert 0 < difference_noise(scene, scene) < 1e-8
