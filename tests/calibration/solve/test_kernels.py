"""The kernel solve: projection, objective, tiles, known kernels."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.signal import fftconvolve

from napari_dpdeblur.calibration.solve.kernel_problem import KernelProblem, project_on_simplex
from napari_dpdeblur.calibration.solve.kernels import (
    SolveSettings,
    TargetObservations,
    fill_from_neighbours,
    solve_kernels,
)
from napari_dpdeblur.calibration.solve.tile_observations import TileObservations
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import TileLayout

SIZE = 15
SETTINGS = SolveSettings(rows=1, cols=2, kernel_px=SIZE, iterations=80)


def pattern(height, width):
    """Random discs: texture without a period."""
    generator = np.random.default_rng(0)
    picture = np.zeros((height, width), np.float32)
    for x, y, radius in generator.uniform(
        (0, 0, 3), (width, height, 8), (height * width // 300, 3)
    ):
        cv2.circle(picture, (int(x), int(y)), int(radius), 1.0, -1, cv2.LINE_AA)
    return picture


@pytest.fixture
def observations():
    """Two tiles of 80 x 80 px with their own kernels, exactly blurred."""
    truth = synthetic_kernels(1, 2, size=SIZE, disparity_px=-2.0)
    margin = SIZE // 2
    latent = pattern(80 + 2 * margin, 160 + 2 * margin)
    views = np.zeros((2, 80, 160), np.float32)
    for tile, cols in enumerate((slice(0, 80), slice(80, 160))):
        for view in range(2):
            views[view, :, cols] = fftconvolve(latent, truth[tile, view], mode="valid")[:, cols]
    return TargetObservations(latent, views, np.ones((80, 160), bool)), truth


def solve(observations, settings=SETTINGS):
    return finish(solve_kernels(observations, settings))


def errors(found, truth):
    difference = np.sqrt(((found - truth) ** 2).sum((-2, -1)))
    return difference / np.sqrt((truth**2).sum((-2, -1)))


def test_known_kernels_are_recovered(observations):
    given, truth = observations
    solution = solve(given)
    assert errors(solution.kernels, truth).max() < 0.05
    assert solution.solved.all()
    assert solution.kernels.min() >= 0
    np.testing.assert_allclose(solution.kernels.sum((-2, -1)), 1, atol=1e-5)
    assert np.abs(solution.residual).mean() < 2e-3


def test_orientation_is_that_of_a_convolution(observations):
    given, truth = observations
    solution = solve(given)
    assert errors(solution.kernels, truth[..., ::-1, ::-1]).min() > 0.2


def test_noise_is_measured_and_smooths_the_kernels(observations):
    given, truth = observations
    noisy = given.views + np.random.default_rng(1).normal(0, 0.03, given.views.shape)
    noisy_observations = TargetObservations(given.latent, noisy.astype(np.float32), given.valid)
    smooth = solve(noisy_observations)
    rough = solve(noisy_observations, SETTINGS.model_copy(update={"smoothness": 0.0}))
    assert errors(smooth.kernels, truth).mean() < 0.8 * errors(rough.kernels, truth).mean()
    assert 0.03 < smooth.noise.mean() < 0.08  # weighted: shadows count up to sixfold


def test_pixels_that_do_not_count_change_nothing(observations):
    given, _ = observations
    valid = given.valid.copy()
    valid[20:50, 30:60] = False
    spoilt = given.views.copy()
    spoilt[:, 20:50, 30:60] = 5.0
    settings = SETTINGS.model_copy(update={"shadow_noise": 1e6})
    clean = solve(TargetObservations(given.latent, given.views, valid), settings)
    other = solve(TargetObservations(given.latent, spoilt, valid), settings)
    np.testing.assert_allclose(other.kernels, clean.kernels, atol=2e-3)


def test_the_gradient_term_is_the_gradient_of_both_pictures(observations):
    """With l4 the kernels of exact data stay the same."""
    given, truth = observations
    solution = solve(given, SETTINGS.model_copy(update={"gradient": 2.0}))
    assert errors(solution.kernels, truth).max() < 0.08


def test_a_periodic_pattern_needs_the_radial_term():
    """Equal discs on a grid: a kernel and its copies, one pitch away, explain the same picture."""
    size, pitch = 41, 16
    y, x = np.mgrid[0:140, 0:140]
    latent = (np.hypot((x % pitch) - 8, (y % pitch) - 8) < 4.5).astype(np.float32)
    truth = synthetic_kernels(1, 1, size=size, disparity_px=-2.0)
    views = np.stack([fftconvolve(latent, k, mode="valid") for k in truth[0]]).astype(np.float32)
    given = TargetObservations(latent, views, np.ones(views.shape[1:], bool))
    base = {"rows": 1, "cols": 1, "kernel_px": size, "iterations": 80}
    without = solve(given, SolveSettings(**base, radial=0.0, smoothness=0.0))
    with_it = solve(given, SolveSettings(**base, radial=3e-2))
    far = np.hypot(*np.mgrid[-20:21, -20:21]) > 12

    def mass(solution):
        return solution.kernels[..., far].sum(-1).max()

    assert mass(without) > 0.1
    assert mass(with_it) < 0.01


def test_tiles_without_texture_are_filled_and_marked(observations):
    given, _ = observations
    latent = given.latent.copy()
    latent[:, 80:] = 0
    solution = solve(TargetObservations(latent, given.views, given.valid))
    assert solution.solved.tolist() == [True, False]
    np.testing.assert_array_equal(solution.kernels[1], solution.kernels[0])


def test_tiles_with_too_few_usable_pixels_are_filled(observations):
    given, _ = observations
    valid = given.valid.copy()
    valid[:, :70] = False
    assert solve(TargetObservations(given.latent, given.views, valid)).solved.tolist() == [
        False,
        True,
    ]


def test_nothing_to_solve(observations):
    given, _ = observations
    with pytest.raises(CalibrationError, match="No tile of the calibrated field contains enough"):
        solve(TargetObservations(given.latent, given.views, np.zeros_like(given.valid)))


def test_filling_takes_the_mean_of_the_nearest():
    kernels = np.arange(6, dtype=np.float32)[:, None, None, None] * np.ones(
        (6, 2, 3, 3), np.float32
    )
    solved = np.array([True, False, True, True, True, True])
    filled = fill_from_neighbours(kernels, solved, 2, 3)
    assert filled[1, 0, 0, 0] == pytest.approx((0 + 2 + 4 + 3 + 5) / 5)
    np.testing.assert_array_equal(filled[solved], kernels[solved])


def test_uneven_tiles_are_solved(observations):
    given, truth = observations
    margin = SIZE // 2
    crop = TargetObservations(
        given.latent[:, : 151 + 2 * margin], given.views[:, :, :151], given.valid[:, :151]
    )
    solution = solve(crop, SETTINGS.model_copy(update={"cols": 2}))
    assert solution.residual.shape == (2, 80, 151)
    assert errors(solution.kernels[0], truth[0]).max() < 0.05


def test_correlation_is_the_transpose_of_the_model(observations):
    given, _ = observations
    tiles = TileObservations.of(given, TileLayout.regular(80, 160, 1, 2), SETTINGS)
    problem = KernelProblem.of(tiles, np.array([0, 1]), SETTINGS)
    generator = torch.Generator().manual_seed(0)
    kernels = torch.rand(2, 2, SIZE, SIZE, generator=generator)
    views = torch.rand(2, 2, 80, 80, generator=generator)
    left = (problem.model(kernels).double() * views.double()).sum()
    right = (kernels.double() * problem.correlate(views).double()).sum()
    assert left.item() == pytest.approx(right.item(), rel=1e-5)


def test_projection_on_the_simplex():
    values = torch.randn(
        3, 2, 5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    nearest = project_on_simplex(values)
    assert nearest.min() >= 0
    torch.testing.assert_close(nearest.sum((-2, -1)), torch.ones(3, 2, dtype=torch.float64))
    torch.testing.assert_close(project_on_simplex(nearest), nearest)
    # Optimal: what is positive was lowered by one amount, what is zero by no more than it.
    lowered = (values - nearest).flatten(-2)
    for shift, kept in zip(lowered.flatten(0, 1), nearest.flatten(-2).flatten(0, 1), strict=True):
        level = shift[kept > 0]
        torch.testing.assert_close(level, level[:1].expand_as(level))
        assert (shift[kept == 0] <= level[0] + 1e-12).all()


@pytest.mark.parametrize("wrong", [{"kernel_px": 60}, {"rows": 0}, {"unknown": 1}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValidationError):
        SolveSettings(**wrong)
