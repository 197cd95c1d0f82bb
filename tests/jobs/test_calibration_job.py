"""Calibrations and devices as jobs, run in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target, load_target
from napari_dpdeblur.cancellation import Control
from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import CalibrationError, OperationCancelled
from napari_dpdeblur.jobs import calibration_job, device_job
from napari_dpdeblur.jobs.calibration_job import CalibrationRequest

FRAME = (384, 480)
SETTINGS = SolveSettings(rows=2, cols=3, kernel_px=23, iterations=5)


@pytest.fixture(scope="module")
def lens():
    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    return replace(synthetic_calibration(*FRAME, rows=2, cols=3), kernels=kernels)


@pytest.fixture(scope="module")
def shoot(tmp_path_factory, lens) -> Path:
    folder = tmp_path_factory.mktemp("shoot")
    target = Target.for_screen(520, 420, 32.0)
    pose = Pose(scale=1.0, rotation_deg=3.0, tilt_deg=(3.0, -2.0))
    front = simulate_shoot(target, lens, pose, scale=-1.0, burst=1, sheets=0)
    write_shoot(simulate_shoot(target, lens, pose, burst=1, sheets=1), target, folder, front)
    return folder


@pytest.fixture
def request_of(shoot):
    groups = {name: [shoot / name] for name in ("discs", "white", "black", "sheets")}

    def make(**changes) -> CalibrationRequest:
        values = {**groups, "target": shoot / "target.json", "settings": SETTINGS, **changes}
        return CalibrationRequest(**values, camera="small camera", focus_distance_m=0.5)

    return make


def test_folders_become_a_calibration(here, request_of, shoot):
    # The same folder twice: a capture counts once.
    request = request_of(discs=[shoot / "discs"] * 2, target=load_target(shoot / "target.json"))
    messages, calibration = here(calibration_job.make, request)
    assert (calibration.rows, calibration.cols) == (2, 3)
    assert calibration.camera == "small camera"
    assert calibration.focus_distance_m == 0.5
    assert messages[1].stage.startswith("loading ")
    fractions = [message.fraction for message in messages]
    assert fractions == sorted(fractions)
    found = [message.found for message in messages if message.found]
    assert found[0]["frame_shape"] == FRAME
    assert len(found[0]["discs"]) > 50


def test_folders_of_both_sides_become_one_calibration(here, request_of, shoot):
    front = {name: [shoot / name] for name in ("front_discs", "front_white", "front_black")}
    messages, calibration = here(calibration_job.make, request_of(**front))
    assert calibration.front_scale == pytest.approx(-1, abs=0.1)
    fractions = [message.fraction for message in messages]
    assert fractions == sorted(fractions)
    assert len([message for message in messages if message.found]) == 2


def test_what_is_missing_is_told(here, request_of, shoot):
    gone = shoot / "gone"
    with pytest.raises(CalibrationError, match=r"gone no longer exists; remove it"):
        here(calibration_job.make, request_of(discs=[gone]))
    with pytest.raises(CalibrationError, match="discs"):
        here(calibration_job.make, request_of(discs=[]))


def test_cancelled(here, request_of):
    control = Control()
    control.cancel()
    with pytest.raises(OperationCancelled):
        here(calibration_job.make, request_of(), control)


def test_a_file_is_read(here, lens, tmp_path):
    save_calibration(lens, tmp_path / "lens.dpcal")
    messages, calibration = here(calibration_job.read, tmp_path / "lens.dpcal")
    assert [message.stage for message in messages] == ["loading"]
    np.testing.assert_array_equal(calibration.kernels, lens.kernels)


def test_the_published_one_is_fetched(here, pixel4_data, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    messages, calibration = here(calibration_job.fetch_published, None)
    assert calibration.camera == "Google Pixel 4"
    assert [message.step for message in messages] == [1, 2, 3, 4]
    assert all(message.stage.startswith("fetching calibration/") for message in messages)


def test_devices_have_names_for_people(here):
    _, devices = here(device_job.run, None)
    assert devices["cpu"].startswith("CPU, ")
    assert "thread" in devices["cpu"]
