"""Noise of known size is found in views of known structure."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import torch

from napari_dpdeblur.fitting.parameters.report import NoiseParameters
from napari_dpdeblur.fitting.report.noise import _non_negative, estimate_noise

PARAMETERS = NoiseParameters()


def noisy(constant: float, slope: float) -> torch.Tensor:
    random = np.random.default_rng(0)
    rows, cols = np.mgrid[:256, :320] / 320
    scene = 0.2 + 0.6 * cols + 0.05 * np.sin(12 * rows)
    sigma = np.sqrt(constant + slope * scene)
    views = [scene + sigma * random.normal(size=scene.shape) for _ in range(2)]
    return torch.from_numpy(np.stack(views)[:, None].astype(np.float32))


@pytest.mark.parametrize(("constant", "slope"), [(1e-4, 0.0), (0.0, 4e-4), (1e-4, 2e-4)])
def test_the_noise_that_was_added_is_found(constant: float, slope: float) -> None:
    model = estimate_noise(noisy(constant, slope), PARAMETERS)
    for intensity in (0.3, 0.7):
        found = model.constant + model.per_intensity * intensity
        assert found == pytest.approx(constant + slope * intensity, rel=0.15)


def test_sigma_follows_the_intensity() -> None:
    model = estimate_noise(noisy(0.0, 4e-4), PARAMETERS)
    sigma = model.sigma(torch.tensor([0.25, 1.0])[:, None, None, None].expand(2, 1, 8, 8))
    assert float(sigma[1].mean() / sigma[0].mean()) == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("size", [4, 64])
def test_views_without_noise_or_with_few_pixels_have_a_smallest_noise(size: int) -> None:
    model = estimate_noise(torch.full((2, 1, size, size), 0.5), PARAMETERS)
    assert model.constant == pytest.approx(PARAMETERS.min_sigma**2)


@pytest.mark.parametrize("truth", [(0.3, 0.7), (0.0, 0.5), (0.4, 0.0), (0.5, -0.2), (-0.3, 1.0)])
def test_factors_are_those_of_a_general_solver(truth: tuple[float, float]) -> None:
    intensity = np.linspace(0.1, 0.9, 24)
    design = np.stack([np.ones_like(intensity), intensity], axis=1)
    values = design @ truth + np.random.default_rng(0).normal(0, 0.01, len(intensity))
    expected, _ = scipy.optimize.nnls(design, values)
    np.testing.assert_allclose(_non_negative(design, values), expected, atol=1e-9)
