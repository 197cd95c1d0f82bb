from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.image import bands
from napari_dpdeblur.fitting.image.bands import bands_of
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem

SCALE = 0.8


@pytest.fixture(scope="module")
def known(simulated: Callable[..., Any]) -> Any:
    return simulated(192, 128)


@pytest.fixture
def problem(known: Any) -> FitProblem:
    return pose_problem(known.capture, known.calibration, FitSettings(), torch.device("cpu"))


def in_bands(monkeypatch: pytest.MonkeyPatch, problem: FitProblem, count: int) -> None:
    height, width = problem.views.shape[-2:]
    monkeypatch.setattr(bands, "MAX_BAND_PIXELS", -(-height * width // count))


def test_a_small_image_is_one_band(problem: FitProblem) -> None:
    (band,) = bands_of(problem, SCALE, 4.0)
    assert (band.first, band.last) == (0, problem.views.shape[-2])
    assert torch.equal(band.weight, torch.ones_like(band.weight))


def test_weights_of_bands_sum_to_one(problem: FitProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    in_bands(monkeypatch, problem, 3)
    found = bands_of(problem, SCALE, 4.0)
    assert len(found) == 3
    total = torch.zeros(problem.views.shape[-2], 1)
    for band in found:
        total[band.first : band.last] += band.weight
    torch.testing.assert_close(total, torch.ones_like(total))


def test_a_band_is_cut_out_with_its_kernels(
    problem: FitProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_bands(monkeypatch, problem, 2)
    last = bands_of(problem, SCALE, 4.0)[-1]
    part = last.problem(problem)
    assert torch.equal(part.views, problem.views[..., last.first :, :])
    assert torch.equal(part.kernels.kernels[-1], problem.kernels.kernels[-1])
    assert part.layout.row_edges[-1] == part.views.shape[-2]


def noise_of(image: np.ndarray) -> float:
    """Standard deviation of the noise, from second differences, which textures leave small."""
    second = np.diff(np.diff(image, 2, axis=0), 2, axis=1)
    return float(np.median(abs(second))) / 0.6745 / 6


def test_a_fit_in_bands_has_no_seams(
    known: Any, problem: FitProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = FitSettings(layers=6, threads=1, smooth_image=0.0)
    whole = fit(known.capture, known.calibration, settings)
    in_bands(monkeypatch, problem, 2)
    seen = {}
    banded = fit(
        known.capture,
        known.calibration,
        settings,
        progress=lambda event: seen.update({event.stage: event.total}),
    )
    assert seen["image"] == 2 * settings.image_rounds * settings.image_steps
    difference = banded.all_in_focus - whole.all_in_focus
    noise = noise_of(known.capture.views[0, 0])
    assert abs(difference).max() > 0
    assert abs(difference).mean() < 0.1 * noise
    step_between_rows = abs(np.diff(difference.mean((0, 2))))
    assert step_between_rows.max() < 0.2 * noise
