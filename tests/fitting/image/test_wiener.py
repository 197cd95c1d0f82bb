from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.fitting.defocus.search import deconvolution_scales
from napari_dpdeblur.fitting.image.wiener import ImagePrior, wiener_images
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.fitting.stages import PRIOR_STAGES
from napari_dpdeblur.optics import TiledBlur

SHAPE = (96, 128)
PLANE = torch.full(SHAPE, 0.8)
PARAMETERS = Parameters()


@pytest.fixture
def problem(simulated: Callable[..., Any]) -> FitProblem:
    known = simulated(*SHAPE)
    return pose_problem(known.capture, known.calibration, FitSettings(), torch.device("cpu"))


def seen(problem: FitProblem, sharp: Tensor) -> FitProblem:
    """What the lens makes of a sharp plane (1, h, w)."""
    blur = TiledBlur([problem.kernels_at(0.8)], problem.layout, blend_px=16)
    return replace(problem, views=blur(sharp[None])[0])


def deblurred(problem: FitProblem, prior: ImagePrior | None = None) -> Tensor:
    scales = deconvolution_scales(PLANE, PARAMETERS.wiener.scale_step)
    *_, image = wiener_images(problem, PLANE, scales, PARAMETERS.wiener, 1.0, prior)
    return image


def prior_of(stage: str, image: Tensor) -> ImagePrior:
    return ImagePrior.of_stage(stage, image, PLANE, PARAMETERS)


def test_the_prior_completes_edges(problem: FitProblem) -> None:
    sharp = torch.full((1, *SHAPE), 0.4)
    sharp[:, 30:60, 40:90] = 1
    problem = seen(problem, sharp)
    first = deblurred(problem)
    again = deblurred(problem, prior_of("detail", first))
    finally_ = deblurred(problem, prior_of("refine", again))
    captured, once, twice, thrice = (
        float((image - sharp)[..., 8:-8, 8:-8].square().mean())
        for image in (problem.views.mean(0), first, again, finally_)
    )
    assert once < 0.5 * captured
    assert twice < 0.9 * once
    assert thrice < twice


def test_a_stronger_prior_leaves_less_noise(problem: FitProblem) -> None:
    generator = torch.Generator().manual_seed(0)
    flat = torch.full((1, *SHAPE), 0.5)
    problem = seen(problem, flat)
    noise = 0.01 * torch.randn(problem.views.shape, generator=generator)
    problem = replace(problem, views=problem.views + noise)
    image, noises = deblurred(problem), []
    for stage in PRIOR_STAGES:
        image = deblurred(problem, prior_of(stage, image))
        noises.append(float(image.std()))
    assert noises[1] < 0.5 * noises[0]


def test_a_surface_is_deblurred_without_its_occluders(problem: FitProblem) -> None:
    """Neither occluder nor blurred boundary is left; the occluder keeps its background."""
    surfaces = torch.ones(SHAPE)
    surfaces[40:60, 40:80] = 0.5
    views = torch.full((2, 1, *SHAPE), 0.4)
    views[..., 36:64, 36:84] = 1.0  # the boundary, blurred by half of what it were at defocus 1
    views[..., 40:60, 40:80] = 2.0
    posed = replace(problem, views=views)
    prior = ImagePrior(views[0], surfaces, 1.0, PARAMETERS.prior)
    behind = prior.views_of_surface(posed, 1.0)
    torch.testing.assert_close(behind, torch.full_like(views, 0.4))
    assert torch.equal(prior.views_of_surface(posed, 0.5), views)


def test_a_sharp_boundary_removes_little_of_the_background(problem: FitProblem) -> None:
    surfaces = PLANE.clone()
    surfaces[40:60, 40:80] = 0.05
    posed = replace(problem, views=torch.rand(2, 1, *SHAPE))
    prior = ImagePrior(posed.views[0], surfaces, 1.0, PARAMETERS.prior)
    behind = prior.views_of_surface(posed, 0.8)
    kept = torch.ones(SHAPE, dtype=torch.bool)
    kept[36:64, 36:84] = False
    assert torch.equal(behind[..., kept], posed.views[..., kept])


def test_neighbouring_surfaces_stay_together(problem: FitProblem) -> None:
    surfaces = PLANE - 0.25 * torch.rand(SHAPE)
    posed = replace(problem, views=torch.rand(2, 1, *SHAPE))
    prior = ImagePrior(posed.views[0], surfaces, 1.0, PARAMETERS.prior)
    assert torch.equal(prior.views_of_surface(posed, 0.8), posed.views)
