from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import CalibrationError, FitError
from napari_dpdeblur.fitting.problem import (
    FitProblem,
    lens_model,
    original_rows,
    pose_problem,
    reduce_images,
    resample,
)
from napari_dpdeblur.fitting.settings import FitSettings

CPU = torch.device("cpu")


def posed(known: Any, preset: str = "standard", **options: Any) -> FitProblem:
    settings = FitSettings.of({"preset": preset})
    return pose_problem(known.capture, known.calibration, settings, CPU, **options)


def test_views_have_a_mean_of_one_half(simulated: Callable[..., Any]) -> None:
    known = simulated(96, 128)
    problem = posed(known)
    assert float(problem.views.mean()) == pytest.approx(0.5, rel=1e-5)
    in_unit = problem.views / problem.intensity_scale
    np.testing.assert_allclose(in_unit, known.capture.views, atol=1e-6)
    assert (problem.shape, problem.pixel_pitch) == ((96, 128), (1, 1))


def test_rows_that_were_interpolated_are_not_computed_with(simulated: Callable[..., Any]) -> None:
    known = simulated(96, 128, pixel_aspect=2)
    problem = posed(known)
    assert problem.views.shape == (2, 1, 48, 128)
    assert (problem.shape, problem.pixel_pitch) == ((96, 128), (2, 1))
    in_unit = problem.views / problem.intensity_scale
    np.testing.assert_allclose(in_unit, known.capture.views, atol=2e-2)
    assert problem.enlarged(problem.views[0]).shape == (1, 96, 128)
    assert problem.layout.shape == (48, 128)


def test_the_paper_computes_with_all_rows(simulated: Callable[..., Any]) -> None:
    problem = posed(simulated(96, 128, pixel_aspect=2), preset="paper")
    assert (problem.views.shape, problem.pixel_pitch) == ((2, 1, 96, 128), (1, 1))


def test_kernels_are_centred_unless_as_published(simulated: Callable[..., Any]) -> None:
    known = simulated(96, 128)

    def offset_px(problem: FitProblem) -> float:
        kernels = problem.kernels.kernels
        positions = torch.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
        return float((kernels.sum(-2) * positions).sum(-1).mean())

    assert abs(offset_px(posed(known))) < 0.02
    assert abs(offset_px(posed(known, "paper"))) > 0.5


def test_what_measuring_has_added_is_taken_off_for_the_image_alone(
    simulated: Callable[..., Any],
) -> None:
    known = simulated(96, 128)
    wide = dataclasses.replace(known.calibration, excess_variance_px2=(4.0, 1.5))
    wide_known = dataclasses.replace(known, calibration=wide)
    plain, problem = posed(known), posed(wide_known)
    assert problem.kernels.rms_radius_px() < plain.kernels.rms_radius_px() - 0.1
    for searched in (problem.for_search(), problem.reduced(2).for_search()):
        torch.testing.assert_close(searched.kernels.kernels, plain.kernels.kernels)
    published = posed(wide_known, "paper").kernels.kernels
    torch.testing.assert_close(published, posed(known, "paper").kernels.kernels)


def test_a_crop_keeps_the_kernels_of_its_tiles(simulated: Callable[..., Any]) -> None:
    known = simulated(64, 96)
    lens = synthetic_calibration(64, 96, 2, 3)
    known = dataclasses.replace(known, calibration=dataclasses.replace(lens, vignetting=None))
    whole, part = posed(known), posed(known, crop=(20, 10, 40, 50))
    assert (part.layout.rows, part.layout.cols) == (2, 2)
    assert part.layout.row_edges == (0, 12, 40)
    assert part.layout.col_edges == (0, 22, 50)
    torch.testing.assert_close(part.kernels.kernels, whole.kernels.kernels[[0, 1, 3, 4]])
    window = whole.views[..., 20:60, 10:60] / whole.intensity_scale
    torch.testing.assert_close(part.views / part.intensity_scale, window)


@pytest.mark.parametrize("crop", [(0, 0, 65, 96), (0, -1, 64, 40), (30, 0, 40, 96), (0, 0, 0, 0)])
def test_a_crop_outside_the_field(simulated: Callable[..., Any], crop: Any) -> None:
    with pytest.raises(CalibrationError, match=r"does not lie inside the calibrated field of 64 x"):
        posed(simulated(64, 96), crop=crop)


def test_too_small_a_crop(simulated: Callable[..., Any]) -> None:
    with pytest.raises(FitError, match=r"has 20 x 96 px to fit; at least 32 px are needed"):
        posed(simulated(64, 96), crop=(0, 0, 20, 96))


def test_reduced_problems_see_the_same_scene(simulated: Callable[..., Any]) -> None:
    problem = posed(simulated(96, 128, pixel_aspect=2))
    coarse = problem.reduced(4)
    assert coarse.views.shape == (2, 1, 24, 32)
    assert coarse.pixel_pitch == (4, 4)
    assert coarse.layout.shape == (24, 32)
    assert coarse.shape == problem.shape
    torch.testing.assert_close(coarse.views.mean(), problem.views.mean())


def test_kernels_are_on_the_grid_of_the_views(simulated: Callable[..., Any]) -> None:
    problem = posed(simulated(96, 128, pixel_aspect=2))
    kernels = problem.kernels_at(1.0)
    height, width = kernels.size_px
    assert height < 0.8 * width, "pixels are twice as high as wide"
    brightness = kernels.spectrum((64, 64))[..., 0, 0].real
    torch.testing.assert_close(brightness, torch.ones_like(brightness))


def test_means_over_blocks() -> None:
    images = torch.arange(20.0).reshape(1, 4, 5)
    found = reduce_images(images, 2, 2)
    assert found.shape == (1, 2, 3)
    assert float(found[0, 0, 0]) == images[0, :2, :2].mean()
    assert float(found[0, 0, 2]) == images[0, :2, 4].mean(), "the last block is partial"
    assert reduce_images(images, 1, 1) is images


def test_resampling_keeps_the_size_it_has() -> None:
    images = torch.rand(2, 3, 5, 6)
    assert resample(images, (5, 6)) is images
    assert resample(images, (10, 12)).shape == (2, 3, 10, 12)


def test_original_rows_undo_the_interpolation() -> None:
    rows = torch.rand(1, 2, 24, 10)
    found = original_rows(resample(rows, (48, 10)), 2, 6)
    assert float((found - rows).abs().mean()) < 0.01


@pytest.mark.parametrize("preset", ["standard", "preview", "paper"])
def test_a_fit_uses_the_lens_that_it_describes(simulated: Callable[..., Any], preset: str) -> None:
    known = simulated(96, 128)
    settings = FitSettings.of({"preset": preset})
    lens = lens_model(settings)
    assert lens.is_centred == lens.is_exact == (preset != "paper")
    assert (lens.blend_px == 0) == (preset == "paper")
    expected = known.calibration.kernel_grid(lens).kernels
    torch.testing.assert_close(posed(known, preset).kernels.kernels, expected)
    as_stored = lens_model(FitSettings.of({"preset": preset, "centre_kernels": False}))
    assert not as_stored.is_centred
