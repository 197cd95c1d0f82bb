"""The fit of a capture on disk."""

from __future__ import annotations

import pytest

from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.errors import CaptureError, ResultError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.generators import finish
from napari_dpdeblur.jobs import capture_job, fit_job
from napari_dpdeblur.results import read_run

QUICK = FitSettings(preset="preview", layers=4, threads=1)


@pytest.fixture(scope="module")
def simulation():
    return simulate(96, 128)


@pytest.fixture
def request_of(simulation, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    left, right = simulation.capture.raw[:, 0]
    files = write_pgm_pair(tmp_path, "mine", left, right, simulation.capture.pixel_aspect)

    def make(capture=files):
        output = tmp_path / "mine-run"
        return capture_job.CaptureFitRequest(capture, simulation.calibration, QUICK, output)

    return make


def test_the_result_is_a_run_folder(request_of, tmp_path):
    assert finish(capture_job.run(request_of())) == tmp_path / "mine-run"
    assert read_run(tmp_path / "mine-run").name == "mine"


def test_a_capture_that_is_open_is_not_read_again(request_of, simulation, tmp_path):
    finish(capture_job.run(request_of(simulation.capture)))
    assert read_run(tmp_path / "mine-run").name == simulation.capture.name


def test_missing_files_are_told(request_of, tmp_path):
    (tmp_path / "mine_right.pgm").unlink()
    with pytest.raises(CaptureError, match=r"mine_right\.pgm does not exist"):
        finish(capture_job.run(request_of()))


def test_a_result_that_was_not_saved_is_an_error(request_of, monkeypatch):
    def fails(result, output):
        raise ResultError("The disk is full.")

    monkeypatch.setattr(fit_job, "write_run", fails)
    with pytest.raises(ResultError, match=r"of mine could not be saved .*; free some space or"):
        finish(capture_job.run(request_of()))
