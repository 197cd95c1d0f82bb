"""What a worker does with one capture, whatever its state."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.batch import Plan, make_plan
from napari_dpdeblur.batch import work as batch_work
from napari_dpdeblur.batch.plan import CHECKPOINTS
from napari_dpdeblur.batch.run import _task
from napari_dpdeblur.batch.work import Report, fit_one
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.fitting import resources
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import read_run


@pytest.fixture
def plan(captures: Path, calibration_path: Path, settings: FitSettings, tmp_path: Path) -> Plan:
    folder = tmp_path / "one"
    folder.mkdir()
    for path in captures.glob("scene00_*.pgm"):
        shutil.copy(path, folder)
    shutil.copy(calibration_path, tmp_path / "lens.dpcal")
    return make_plan([folder], tmp_path / "lens.dpcal", tmp_path / "out", settings)


def work(plan: Plan) -> Report:
    return fit_one(_task(plan, plan.pending[0], None))


def test_a_run_folder_with_its_key(plan: Plan, tmp_path: Path) -> None:
    report = work(plan)
    assert (report.failure, report.key) == (None, plan.pending[0].key)
    assert read_run(tmp_path / "out" / "scene00").provenance["batch_key"] == report.key
    assert not list((tmp_path / "out" / CHECKPOINTS).iterdir())


def test_finished_work_is_not_repeated(plan: Plan, tmp_path: Path) -> None:
    work(plan)
    before = (tmp_path / "out" / "scene00" / "run.yaml").stat()
    assert work(plan).failure is None
    after = (tmp_path / "out" / "scene00" / "run.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_wait_for_another_capture_is_not_counted(plan: Plan) -> None:
    """A worker with two threads still fits one capture after the other."""
    work(plan)  # what is finished takes no time
    with ThreadPoolExecutor(1) as other_thread:
        with batch_work._ONE_CAPTURE_AT_A_TIME:
            waiting = other_thread.submit(work, plan)
            time.sleep(1.0)
            assert not waiting.done()
        assert waiting.result().elapsed_s < 0.9


def test_a_damaged_checkpoint_is_thrown_away(plan: Plan, tmp_path: Path) -> None:
    folder = tmp_path / "out" / CHECKPOINTS
    folder.mkdir(parents=True)
    (folder / f"{plan.pending[0].key}.checkpoint").write_bytes(b"not a checkpoint")
    assert work(plan).failure is None
    assert not list(folder.iterdir())


def test_files_that_changed_meanwhile_are_not_taken(plan: Plan, tmp_path: Path) -> None:
    pixels = np.full((24, 64), 20000, np.uint16)
    write_pgm_pair(tmp_path / "one", "scene00", pixels, pixels)
    failure = work(plan).failure
    assert failure is not None
    assert "scene00 have changed since the batch started" in failure


def test_a_calibration_that_changed_meanwhile_is_not_taken(plan: Plan, tmp_path: Path) -> None:
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    save_calibration(synthetic_calibration(48, 64, 1, 1), tmp_path / "lens.dpcal")
    assert "has changed since the batch started" in str(work(plan).failure)


def test_a_shortage_of_memory_is_a_report(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "available_memory", lambda: 100_000_000)
    assert "The fit of scene00 needs about 0.6 GB of memory, but only 0.1 GB" in str(
        work(plan).failure
    )


def test_something_unexpected_is_a_report(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(*_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr("napari_dpdeblur.batch.work.check_run_folder", surprise)
    assert work(plan).failure == "scene00 failed unexpectedly: KeyError: 'surprise'"


def test_somebody_elses_folder_is_left_alone(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "out" / "scene00").mkdir(parents=True)
    (tmp_path / "out" / "scene00" / "notes.txt").write_text("mine")
    assert "already exists; choose another name" in str(work(plan).failure)
    assert (tmp_path / "out" / "scene00" / "notes.txt").read_text() == "mine"
