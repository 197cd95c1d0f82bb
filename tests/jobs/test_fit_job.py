"""The fit as a job, and in a child process: same result, checkpoints, saving, low resolution."""

from __future__ import annotations

import os
import re
import signal
import sys
from dataclasses import replace

import numpy as np
import psutil
import pytest
import torch

from napari_dpdeblur.calibration import Field, save_calibration
from napari_dpdeblur.datasets.synthetic.scene import default_tiles, render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import CalibrationError, FitError, ResultError
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.generators import finish
from napari_dpdeblur.jobs.cache import CachedCheckpoint, checkpoint_folder, forget_old_checkpoints
from napari_dpdeblur.jobs.fit_job import FUNCTION, FitRequest, crop_of, place_of, run
from napari_dpdeblur.jobs.messages import Failed, Finished, Note, Progress
from napari_dpdeblur.results import read_run

SIZE = (96, 128)
resource = pytest.importorskip("resource")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits the child by prlimit")


@pytest.fixture(scope="module")
def pair():
    lens = synthetic_calibration(*SIZE, *default_tiles(*SIZE))
    return render_capture(synthetic_scene(*SIZE)), replace(lens, vignetting=None)


@pytest.fixture(scope="module")
def settings():
    return FitSettings(preset="standard", layers=4, threads=1)


@pytest.fixture(scope="module")
def expected(pair, settings):
    return fit(*pair, settings)


def test_the_result_is_that_of_a_fit_in_this_process(start, until, pair, settings, expected):
    messages = until(start(FUNCTION, FitRequest(*pair, settings)))
    result = messages[-1].result
    np.testing.assert_allclose(result.all_in_focus, expected.all_in_focus, atol=1e-6)
    np.testing.assert_allclose(result.mpi_alpha, expected.mpi.alpha, atol=1e-6)
    assert type(result.provenance["torch"]) is str
    fractions = [m.fraction for m in messages if isinstance(m, Progress)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1


def test_pictures_have_one_size(here, pair, settings):
    messages, _ = here(run, FitRequest(*pair, settings, region=(-5, 32, 69, 900)))
    steps = [m for m in messages if isinstance(m, Progress)]
    assert {m.all_in_focus.shape for m in steps if m.all_in_focus is not None} == {(64, 96)}
    assert {m.defocus_map.shape for m in steps if m.defocus_map is not None} == {(64, 96)}


def test_a_region_of_the_frame_is_a_crop_of_the_field(pair):
    capture, lens = pair
    inner = replace(lens, field=Field(8, 16, 80, 100))
    assert place_of(None, capture, inner) == (8, 16, 80, 100)
    crop = crop_of((20, 0, 40, 60), capture, inner)
    assert crop == (12, 0, 40, 44)
    assert place_of(crop, capture, inner) == (20, 16, 40, 44)
    alone = capture.cropped(8, 16, 80, 100)
    assert place_of(None, alone, inner) == (0, 0, 80, 100)
    with pytest.raises(FitError, match="synthetic contains less than 32 px of the calibrated"):
        crop_of((90, 0, 40, 60), capture, inner)


def test_a_calibration_may_be_a_file_and_the_run_is_saved(here, pair, settings, expected, tmp_path):
    path = tmp_path / "lens.dpcal"
    save_calibration(pair[1], path)
    _, outcome = here(run, FitRequest(pair[0], path, settings, output=tmp_path / "run"))
    np.testing.assert_allclose(outcome.all_in_focus, expected.all_in_focus, atol=1e-6)
    saved = read_run(outcome.run_folder)
    np.testing.assert_array_equal(saved.all_in_focus, outcome.all_in_focus)
    np.testing.assert_array_equal(saved.capture.raw, pair[0].raw)  # which came from no files
    assert outcome.capture is None  # whoever asked has it


def test_a_killed_fit_goes_on_with_the_same_result(start, until, pair, settings, expected):
    request = FitRequest(*pair, settings, is_resumable=True)
    first = start(FUNCTION, request)
    while not any(isinstance(m, Progress) and m.stage == "deblur" for m in until(first, Progress)):
        pass
    os.kill(first.pid, signal.SIGKILL)
    assert isinstance(until(first)[-1], Failed)
    messages = until(start(FUNCTION, request))
    assert Note("Resuming the interrupted fit of synthetic.") in messages
    assert "cost volume" not in {m.stage for m in messages if isinstance(m, Progress)}
    result = messages[-1].result
    np.testing.assert_allclose(result.all_in_focus, expected.all_in_focus, atol=1e-6)


@linux_only
def test_a_full_disk_costs_neither_the_fit_nor_its_result(start, until, pair, settings, tmp_path):
    request = FitRequest(*pair, settings, is_resumable=True, output=tmp_path / "run")
    process = start(FUNCTION, request)
    until(process, Progress)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
    messages = until(process)
    assert isinstance(messages[-1], Finished)
    notes = [m.text for m in messages if isinstance(m, Note)]
    assert all(m.is_problem for m in messages if isinstance(m, Note))
    assert "cannot be written" in notes[0]
    assert notes[1].endswith("The result is shown but was not saved.")
    assert messages[-1].result.run_folder is None
    assert not (tmp_path / "run").exists()


def test_an_existing_folder_is_refused_before_the_fit(here, pair, settings, tmp_path):
    (tmp_path / "picture.png").write_bytes(b"")
    steps = run(FitRequest(*pair, settings, output=tmp_path))
    with pytest.raises(ResultError, match="already exists"):
        next(steps)


def test_a_place_where_nothing_can_be_saved_is_told_before_the_fit(pair, settings, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    request = FitRequest(*pair, settings, output=tmp_path / "file" / "run")
    with pytest.raises(ResultError, match=r"cannot be created because .*file is not a folder"):
        next(run(request))


def test_folders_that_cannot_be_made_are_told(pair, settings, tmp_path, monkeypatch):
    """No checkpoint can be kept and no run be written, and the fit ends well all the same."""
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "later" / "cache"))
    request = FitRequest(*pair, settings, is_resumable=True, output=tmp_path / "later" / "run")
    steps = run(request)
    messages = [next(steps)]
    (tmp_path / "later").write_bytes(b"somebody has taken the name")
    outcome = finish(steps, messages.append)
    notes = [m.text for m in messages if isinstance(m, Note) and m.is_problem]
    assert notes[0].endswith("The fit continued without checkpoints.")
    assert notes[1].endswith("The result is shown but was not saved.")
    assert outcome.run_folder is None


def test_an_interrupted_fit_goes_on_in_the_next_one(here, pair, settings, expected):
    request = FitRequest(*pair, settings, is_resumable=True)
    for message in run(request):
        if isinstance(message, Progress) and message.stage == "refine":
            break
    messages, outcome = here(run, request)
    assert Note("Resuming the interrupted fit of synthetic.") in messages
    np.testing.assert_allclose(outcome.all_in_focus, expected.all_in_focus, atol=1e-6)
    assert outcome.provenance["is_resumed"]
    assert not list(checkpoint_folder().iterdir()), "a finished fit leaves no checkpoint"


def test_a_fit_that_ends_while_it_is_saved_can_go_on(here, pair, settings, tmp_path):
    request = FitRequest(*pair, settings, is_resumable=True, output=tmp_path / "run")
    for message in run(request):
        if isinstance(message, Progress) and message.stage == "saving":
            break
    messages, outcome = here(run, request)
    assert outcome.provenance["is_resumed"]
    # The layers follow from what was kept, and are made again.
    stages = {m.stage for m in messages if isinstance(m, Progress)}
    assert stages == {"loading", "surfaces", "layers", "saving"}
    assert outcome.run_folder == tmp_path / "run"


def test_only_the_newest_checkpoints_are_kept_and_a_damaged_one_is_thrown_away(tmp_path):
    for number in range(6):
        path = tmp_path / f"{number}.checkpoint"
        path.write_bytes(b"damaged")
        os.utime(path, (number, number))
    forget_old_checkpoints(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"2", "3", "4", "5"}
    checkpoint = CachedCheckpoint(tmp_path, "5")
    assert checkpoint.load("5", torch.device("cpu")).steps == {}
    assert not checkpoint.is_resumed
    assert not checkpoint.path.exists()


@linux_only
def test_a_fit_without_memory_ends_with_the_remedy(start, until):
    lens = synthetic_calibration(*(504, 672), *default_tiles(504, 672))
    capture = render_capture(synthetic_scene(504, 672))
    process = start(FUNCTION, FitRequest(capture, lens, FitSettings(threads=1)))
    while not any(m.stage == "cost volume" for m in until(process, Progress)):
        pass
    size = psutil.Process(process.pid).memory_info().vms
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size, size))
    # Whichever allocation comes first decides: torch and NumPy raise, which the fit explains;
    # OpenBLAS ends the process, which whoever started it explains.
    last = until(process)[-1]
    assert isinstance(last, Failed)
    assert re.search("ran out of memory on cpu|most likely because memory ran out", last.text)
    assert "fewer layers" in last.text


def test_a_calibration_of_another_camera(here, pair, settings):
    other = synthetic_calibration(48, 64, 2, 3)
    with pytest.raises(CalibrationError, match="does not match the calibration of synthetic lens"):
        here(run, FitRequest(pair[0], other, settings))


def test_low_resolution_keeps_the_meaning_of_defocus(here, pair):
    preview = FitSettings(preset="preview", threads=1)
    expected = fit(*pair, preview)
    result = here(run, FitRequest(*pair, preview, reduction=2))[1]
    assert result.all_in_focus.shape == (1, 48, 64)
    full = expected.defocus_map.reshape(48, 2, 64, 2).mean((1, 3))
    assert abs(np.median(result.defocus_map) - np.median(full)) < 0.05
    np.testing.assert_allclose(result.all_in_focus.mean(), expected.all_in_focus.mean(), rtol=0.03)
