"""The renderer of layers with their own defocus, and colours solved through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.fitting.parameters.report import LayerColorParameters
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.fitting.report.gain import _smooth
from napari_dpdeblur.fitting.surfaces.colors import Observation, solve_colors
from napari_dpdeblur.fitting.surfaces.renderer import SurfaceRenderer
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers
from napari_dpdeblur.optics import MultiplaneImage, TiledBlur

PARAMETERS = LayerColorParameters()


@pytest.fixture
def problem(simulated: Callable[..., Any]) -> FitProblem:
    scene = simulated(64, 96)
    cpu = torch.device("cpu")
    return pose_problem(scene.capture, scene.calibration, FitSettings(), cpu).reduced(1)


def layers_of(problem: FitProblem, dtype: torch.dtype = torch.float32) -> SurfaceLayers:
    """A slanted background and a flat disc in front of it."""
    height, width = problem.views.shape[-2:]
    rows, cols = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    disc = (((rows - height / 2) ** 2 + (cols - width / 2) ** 2) < 15**2).to(dtype)
    alpha = torch.stack([torch.ones_like(disc), disc])[:, None]
    own = torch.stack([1 - disc, disc])[:, None]
    slope = 1.2 - 0.5 * cols.to(dtype) / width
    defocus = torch.stack([slope, torch.full_like(disc, 0.4)])[:, None]
    return SurfaceLayers(alpha, own, defocus, torch.tensor([1.0, 0.4], dtype=dtype))


def renderer_of(problem: FitProblem, layers: SurfaceLayers, step: float = 0.1) -> SurfaceRenderer:
    return SurfaceRenderer(problem, layers, step, blend_px=8, negligible_light=0.0)


def test_the_adjoint_is_the_transposed_operator(problem: FitProblem) -> None:
    exact = torch.float64
    views = problem.views.to(exact)
    kernels = problem.kernels.to(dtype=exact)
    double = FitProblem(views, kernels, problem.layout, problem.pixel_pitch, problem.shape, 1.0)
    renderer = renderer_of(double, layers_of(double, exact))
    generator = torch.Generator().manual_seed(0)
    color = torch.rand(2, 1, *views.shape[-2:], generator=generator, dtype=exact)
    other = torch.rand(views.shape, generator=generator, dtype=exact)
    forward = float((renderer.render(color) * other).sum())
    backward = float((color * renderer.adjoint(other)).sum())
    assert forward == pytest.approx(backward, rel=1e-10)


def test_flat_layers_render_like_a_multiplane_image(problem: FitProblem) -> None:
    slanted = layers_of(problem)
    flat = torch.ones_like(slanted.defocus) * slanted.scales[:, None, None, None]
    layers = SurfaceLayers(slanted.alpha, slanted.own, flat, slanted.scales)
    color = torch.rand(2, 1, *problem.views.shape[-2:], generator=torch.Generator().manual_seed(0))
    kernels = [problem.kernels_at(float(scale)) for scale in layers.scales]
    mpi = MultiplaneImage(color, layers.alpha, layers.scales)
    expected = mpi.render(TiledBlur(kernels, problem.layout, 8))
    np.testing.assert_allclose(renderer_of(problem, layers).render(color), expected, atol=1e-5)


def test_a_slanted_layer_of_one_colour_is_not_changed_by_blur(problem: FitProblem) -> None:
    layers = layers_of(problem)
    whole = SurfaceLayers(layers.alpha[:1], layers.own[:1], layers.defocus[:1], layers.scales[:1])
    views = renderer_of(problem, whole, 0.05).render(torch.full((1, 1, 64, 96), 0.5))
    # Neighbouring pixels spread differently: light piles up or thins out a little.
    np.testing.assert_allclose(views[..., 20:-20, 20:-20], 0.5, atol=0.02)


def observed_of(
    problem: FitProblem, views: torch.Tensor, clipped: torch.Tensor | None = None
) -> Observation:
    none = torch.zeros_like(views, dtype=torch.bool)
    return Observation(views, torch.full_like(views, 0.01), none if clipped is None else clipped)


def test_colours_are_found_that_explain_the_views(problem: FitProblem) -> None:
    layers = layers_of(problem)
    renderer = renderer_of(problem, layers)
    generator = torch.Generator().manual_seed(0)
    truth = 0.3 + 0.4 * torch.rand(2, 1, 16, 24, generator=generator)
    truth = torch.nn.functional.interpolate(truth, scale_factor=4, mode="bilinear")
    views = renderer.render(truth)
    start = torch.full_like(truth, 0.5)
    *_, found = solve_colors(renderer, observed_of(problem, views), start, (1, 1), PARAMETERS)
    before = float((renderer.render(start) - views).square().mean().sqrt())
    assert float((found.rendered - views).square().mean().sqrt()) < 0.2 * before
    seen = layers.own > 0.5
    assert float((found.color - truth)[seen].std()) < 0.7 * float((start - truth)[seen].std())


def test_noisy_views_are_explained_more_smoothly(problem: FitProblem) -> None:
    renderer = renderer_of(problem, layers_of(problem))
    generator = torch.Generator().manual_seed(0)
    start = torch.full((2, 1, 64, 96), 0.5)
    views = renderer.render(start)
    noise = PARAMETERS.usual_noise * torch.randn(views.shape, generator=generator)
    clear = torch.zeros_like(views, dtype=torch.bool)

    def roughness(views: torch.Tensor, sigma: float) -> float:
        observed = Observation(views, torch.full_like(views, sigma), clear)
        *_, found = solve_colors(renderer, observed, start, (1, 1), PARAMETERS)
        return float(found.color.diff(dim=-1).abs().mean())

    usual = roughness(views + noise, PARAMETERS.usual_noise)
    assert roughness(views + noise, 0.1 * PARAMETERS.usual_noise) == pytest.approx(usual, rel=0.02)
    # Three times the noise would make the colours three times as rough.
    assert roughness(views + 3 * noise, 3 * PARAMETERS.usual_noise) < 2 * usual


def test_the_gain_is_opposite_in_the_two_views(problem: FitProblem) -> None:
    layers = layers_of(problem)
    renderer = renderer_of(problem, layers)
    color = torch.full((2, 1, 64, 96), 0.5)
    factor = torch.tensor([1.03, 0.97])[:, None, None, None]
    observed = observed_of(problem, factor * renderer.render(color))
    *_, found = solve_colors(renderer, observed, color, (1, 1), PARAMETERS)
    np.testing.assert_allclose(found.gain.sum(0), 2, atol=1e-5)
    np.testing.assert_allclose(found.gain[0], 1.03, atol=2e-3)


def test_clipped_pixels_may_be_rendered_brighter(problem: FitProblem) -> None:
    views = torch.full_like(problem.views, 0.6)
    clipped = torch.ones_like(views, dtype=torch.bool)
    observed = observed_of(problem, views, clipped)
    assert float(observed.errors(views + 0.3).abs().max()) == 0
    assert float(observed.errors(views - 0.3).abs().max()) == pytest.approx(0.3)


def test_the_gain_is_smoothed_as_by_a_gaussian() -> None:
    values = torch.rand(120, 176, generator=torch.Generator().manual_seed(0))
    values[:, :70] *= 2
    expected = cv2.GaussianBlur(values.numpy(), (0, 0), 20.0, borderType=cv2.BORDER_REFLECT)
    np.testing.assert_allclose(_smooth(values, 20.0), expected, atol=5e-3)
