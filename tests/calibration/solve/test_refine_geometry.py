"""The place of the screen within a tile, refined from what the kernels leave unexplained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.signal import fftconvolve

from napari_dpdeblur.calibration.sides import disparity_px
from napari_dpdeblur.calibration.solve.kernel_problem import KernelProblem
from napari_dpdeblur.calibration.solve.kernels import (
    SolveSettings,
    TargetObservations,
    solve_kernels,
)
from napari_dpdeblur.calibration.solve.refine_geometry import MAX_STRETCH, tile_stretches
from napari_dpdeblur.calibration.solve.tile_observations import TileObservations
from napari_dpdeblur.calibration.target.disc_coverage import disc_coverage
from napari_dpdeblur.calibration.target.geometry import ScreenGeometry
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import TileLayout

SIZE, TILE = 21, 128
MARGIN = SIZE // 2
SHAPE = (TILE + 2 * MARGIN, TILE + 2 * MARGIN)
STRETCH = np.array([[0.004, -0.002], [0.001, -0.003]])
TARGET = Target.for_screen(300, 300, 24.0)
GEOMETRY = ScreenGeometry(np.array([[1.0, 0.03, -60], [-0.02, 1.0, -55], [0, 0, 1]]), SHAPE)
SETTINGS = SolveSettings(rows=1, cols=1, kernel_px=SIZE, iterations=80)


def render(warp, shape, top, left):
    return disc_coverage(TARGET, lambda p: GEOMETRY.to_screen(warp(p)), shape, top, left)


def bent(points):
    middle = (TILE - 1) / 2
    return points + (points - middle) @ STRETCH.T


@pytest.fixture(scope="module")
def truth():
    return synthetic_kernels(1, 1, size=SIZE, disparity_px=-2.0)


@pytest.fixture(scope="module")
def observations(truth):
    """A tile whose latent picture is a straight one although the views show a bent one."""
    sharp = render(bent, SHAPE, -MARGIN, -MARGIN)
    views = np.stack([fftconvolve(sharp, kernel, mode="valid") for kernel in truth[0]])
    straight = render(lambda points: points, SHAPE, -MARGIN, -MARGIN)
    return TargetObservations(
        straight, views.astype(np.float32), np.ones((TILE, TILE), bool), render
    )


def solved(observations, settings):
    return finish(solve_kernels(observations, settings))


def test_the_stretch_of_a_tile_is_measured(observations, truth):
    tiles = TileObservations.of(observations, TileLayout.regular(TILE, TILE, 1, 1), SETTINGS)
    problem = KernelProblem.of(tiles, np.array([0]), SETTINGS)
    found = tile_stretches(problem, torch.from_numpy(truth))
    np.testing.assert_allclose(found[0], STRETCH, atol=4e-4)


def test_a_stretch_that_is_no_lens_is_limited(observations, truth):
    tiles = TileObservations.of(observations, TileLayout.regular(TILE, TILE, 1, 1), SETTINGS)
    tiles.views[:] = tiles.views[..., ::-1]
    problem = KernelProblem.of(tiles, np.array([0]), SETTINGS)
    assert np.abs(tile_stretches(problem, torch.from_numpy(truth))).max() <= MAX_STRETCH


def test_refining_makes_kernels_and_disparity_better(observations, truth):
    def errors(settings):
        solution = solved(observations, settings)
        difference = solution.kernels - truth
        error = np.sqrt((difference**2).sum() / (truth**2).sum())
        return error, np.abs(solution.residual).mean(), solution.kernels

    before, left_before, _ = errors(SETTINGS.model_copy(update={"rough_iterations": 0}))
    after, left_after, kernels = errors(SETTINGS)
    assert after < 0.85 * before
    assert left_after < 0.75 * left_before
    assert abs(disparity_px(kernels)[0] - disparity_px(truth)[0]) < 0.05


def test_a_wide_gradient_term_filters_the_new_picture_too(observations):
    plain = SETTINGS.model_copy(update={"gradient": 4.0})
    tiles = TileObservations.of(observations, TileLayout.regular(TILE, TILE, 1, 1), plain)
    before = tiles.latent[0].copy()
    tiles.render_again(0, np.zeros((2, 2)))
    inner = np.s_[40:-40, 40:-40]
    np.testing.assert_allclose(tiles.latent[0][inner], before[inner], atol=0.01)
