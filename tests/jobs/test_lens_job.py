"""Lens estimates as jobs: alone, and before a fit."""

from __future__ import annotations

import pytest

from napari_dpdeblur.cancellation import Control
from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.errors import CalibrationError, OperationCancelled
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import calibration_job, fit_job
from napari_dpdeblur.jobs.cache import checkpoint_folder
from napari_dpdeblur.jobs.calibration_job import EstimateRequest
from napari_dpdeblur.jobs.fit_job import ESTIMATED_LENS, LENS_SHARE, FitRequest
from napari_dpdeblur.jobs.lens_job import KERNELS, STAGE, kernel_picture
from napari_dpdeblur.jobs.messages import Progress
from napari_dpdeblur.results import read_run

QUICK = FitSettings(preset="preview", layers=4, threads=1)


@pytest.fixture(scope="module")
def simulation():
    return simulate(288, 384)


@pytest.fixture(scope="module")
def folder(simulation, tmp_path_factory):
    made = tmp_path_factory.mktemp("scene")
    write_synthetic(made, simulation.scene, simulation.capture)
    return made


def test_a_lens_from_files(here, folder):
    request = EstimateRequest([folder], camera="Phone", optics={"focal_length_mm": 4.4})
    messages, lens = here(calibration_job.estimate, request)
    assert lens.is_estimated
    assert lens.camera == "Phone"
    steps = [m for m in messages if isinstance(m, Progress)]
    assert [m.fraction for m in steps] == sorted(m.fraction for m in steps)
    assert any(m.stage.startswith(STAGE) for m in steps)
    pictures = [m.found[KERNELS] for m in steps if KERNELS in m.found]
    assert pictures
    assert pictures[0].shape[0] == 2
    assert not list(checkpoint_folder().glob("*")), "nothing is left"


def test_files_that_are_gone(here, tmp_path):
    with pytest.raises(CalibrationError, match="nowhere no longer exists; remove it"):
        here(calibration_job.estimate, EstimateRequest([tmp_path / "nowhere"]))


def test_a_fit_estimates_the_lens_first(here, simulation, tmp_path):
    request = FitRequest(
        simulation.capture, None, QUICK, is_resumable=True, output=tmp_path / "run"
    )
    messages, result = here(fit_job.run, request)
    steps = [m for m in messages if isinstance(m, Progress)]
    later = [m.fraction for m in steps[1:]]
    assert later == sorted(later)
    (lens,) = [m.found[ESTIMATED_LENS] for m in steps if ESTIMATED_LENS in m.found]
    assert result.calibration.content_hash() == lens.content_hash()
    estimating = [m for m in steps if m.stage.startswith(STAGE)]
    assert max(m.fraction for m in estimating) <= LENS_SHARE
    assert any("The lens was estimated from this capture" in note for note in result.notes)
    assert read_run(tmp_path / "run").calibration.content_hash() == lens.content_hash()
    assert not list(checkpoint_folder().glob("*"))


def test_a_cancelled_fit_keeps_its_lens(simulation):
    request = FitRequest(simulation.capture, None, QUICK)
    steps = fit_job.run(request)
    for message in steps:
        if isinstance(message, Progress) and ESTIMATED_LENS in message.found:
            break
    steps.close()
    assert list(checkpoint_folder().glob("*.lens.dpcal"))
    again = [next(steps) for steps in [fit_job.run(request)] for _ in range(2)]
    assert ESTIMATED_LENS in again[1].found, "it is read, not estimated again"


def test_an_estimate_is_cancelled(here, folder):
    control = Control()
    control.cancel()
    with pytest.raises(OperationCancelled):
        here(calibration_job.estimate, EstimateRequest([folder]), control)


def test_kernels_lie_at_their_places(simulation):
    lens = simulation.calibration
    size = lens.kernels.shape[-1]
    aspect = 288 / 384
    picture = kernel_picture(lens.kernels, aspect, lens.rows)
    assert picture.shape == (2, lens.rows * size, lens.cols * size)
    second = picture[1, :size, size : 2 * size]
    assert (second == lens.kernels[1, 1]).all()
    assert kernel_picture(lens.kernels[:12].repeat(4, 0), aspect).shape == (2, 6 * size, 8 * size)
