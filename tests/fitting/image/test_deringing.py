"""Ringing on flat surfaces is removed, texture stays."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.deringing import flatness, without_ringing
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import KernelGrid, TileLayout

PARAMETERS = Parameters()
HEIGHT, WIDTH = 96, 200
EDGE, FINE_FROM = 60, 150  # a bright surface, a dark plain one, a dark one with texture


def problem_of(view: Tensor, pitch: tuple[int, int] = (1, 1)) -> FitProblem:
    kernels = KernelGrid.from_array(torch.full((1, 2, 3, 3), 1 / 9).numpy(), 1, 1)
    height, width = view.shape
    layout = TileLayout.regular(height, width, 1, 1)
    shape = (height * pitch[0], width * pitch[1])
    return FitProblem(view.expand(2, 1, -1, -1), kernels, layout, pitch, shape, 1.0)


def deringed(problem: FitProblem, image: Tensor, strength: float) -> Tensor:
    return without_ringing(problem, image, strength, PARAMETERS.deringing, PARAMETERS.variation)


def flat_part(problem: FitProblem) -> Tensor:
    return flatness(problem, PARAMETERS.deringing)


@pytest.fixture
def view() -> Tensor:
    cols = torch.arange(WIDTH).expand(HEIGHT, WIDTH)
    texture = 0.1 * torch.sin(cols * (2 * math.pi / 12))
    dark = torch.where(cols < FINE_FROM, 0.3, 0.3 + texture)
    return torch.where(cols < EDGE, 3.0, dark)


@pytest.fixture
def ripples() -> Tensor:
    """As a deconvolution makes them beside the edge."""
    cols = torch.arange(WIDTH).expand(HEIGHT, WIDTH)
    return 0.05 * torch.cos(cols * (2 * math.pi / 10)) * torch.exp(-(cols - EDGE).abs() / 40)


def test_ringing_is_removed_and_texture_stays(view: Tensor, ripples: Tensor) -> None:
    image = (view + ripples)[None]
    found = deringed(problem_of(view), image, 1.0)[0]
    plain = slice(EDGE + 16, EDGE + 36)
    left = (found - view)[:, plain].square().mean() / ripples[:, plain].square().mean()
    assert float(left) < 0.1
    texture = slice(FINE_FROM + 16, WIDTH)
    assert torch.equal(found[:, texture], image[0][:, texture])
    edge = slice(EDGE - 4, EDGE + 4)
    assert torch.equal(found[:, edge], image[0][:, edge])


def test_rows_of_twice_the_height_make_no_difference(view: Tensor) -> None:
    full = flat_part(problem_of(view))
    half = flat_part(problem_of(view[::2], (2, 1)))
    assert float((full[:, ::2] - half).abs().mean()) < 0.03


def test_what_is_as_quiet_as_the_quietest_part_is_flat_without_any_edge() -> None:
    torch.manual_seed(0)
    noisy = 0.5 + 0.01 * torch.randn(HEIGHT, WIDTH)
    noisy[:, WIDTH // 8 :] += 0.2 * torch.rand(HEIGHT, WIDTH - WIDTH // 8)
    found = flat_part(problem_of(noisy))[0]
    assert float(found[:, : WIDTH // 16].mean()) > 0.2
    assert float(found[:, WIDTH // 2 :].max()) == 0


def test_without_smoothness_nothing_changes(view: Tensor, ripples: Tensor) -> None:
    image = (view + ripples)[None]
    assert torch.equal(deringed(problem_of(view), image, 0.0), image)


def test_a_constant_view_stays_finite(view: Tensor) -> None:
    constant = replace(problem_of(view), views=torch.full((2, 1, HEIGHT, WIDTH), 0.5))
    assert torch.isfinite(deringed(constant, view[None], 1.0)).all()
