"""What a batch has to do follows from the content of the files, not from their names."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.batch import Plan, make_plan
from napari_dpdeblur.batch.index import Index, write_index
from napari_dpdeblur.batch.run import _task
from napari_dpdeblur.batch.work import fit_one
from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.capture.pgm import read_pgm, write_pgm
from napari_dpdeblur.errors import CaptureError, ResultError
from napari_dpdeblur.fitting.resources import estimate_memory
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import read_run
from napari_dpdeblur.results.run_folder import RUN_FILES


@pytest.fixture
def two(captures: Path, tmp_path: Path) -> Path:
    """A folder with the first two captures."""
    folder = tmp_path / "two"
    folder.mkdir()
    for path in sorted(captures.glob("scene0[01]_*.pgm")):
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def plan_of(calibration_path: Path, settings: FitSettings, tmp_path: Path):
    def plan(*given: Path, settings: FitSettings = settings, **options: float) -> Plan:
        return make_plan(given, calibration_path, tmp_path / "out", settings, **options)

    return plan


def compute(plan: Plan) -> None:
    for entry in plan.pending:
        assert fit_one(_task(plan, entry, 1)).failure is None


def test_every_capture_gets_a_folder(plan_of, two: Path) -> None:
    plan = plan_of(two)
    assert [entry.folder for entry in plan.pending] == ["scene00", "scene01"]
    assert plan.memory_bytes > 400_000_000


def test_a_colour_capture_needs_memory_for_three_channels(plan_of, tmp_path: Path) -> None:
    """One that cannot be read says nothing about the others."""
    folder = tmp_path / "colour"
    folder.mkdir()
    for side in ("left", "right"):
        (folder / f"a_{side}.pgm").write_bytes(b"P5 8 8 65535 too short")
    for side in "LR":
        assert cv2.imwrite(str(folder / f"b_{side}.png"), np.full((48, 64, 3), 9000, np.uint16))
    plan = plan_of(folder)
    assert [entry.name for entry in plan.pending] == ["a", "b"]
    assert plan.memory_bytes == estimate_memory(48, 64, 3, layers=4, preset="preview")


def test_a_file_stands_for_its_pair(plan_of, two: Path) -> None:
    plan = plan_of(two / "scene01_right.pgm")
    assert [entry.name for entry in plan.pending] == ["scene01"]


def test_what_is_finished_is_found_by_content(plan_of, two: Path, tmp_path: Path) -> None:
    """Without the index, under another name and in another folder."""
    compute(plan_of(two))
    assert not plan_of(two).pending
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in two.glob("scene00_*.pgm"):
        shutil.copy(path, moved / path.name.replace("scene00", "holiday"))
    plan = plan_of(moved)
    assert not plan.pending
    assert plan.entries[-1].folder == "scene00"


def test_the_same_name_with_other_content_is_computed(plan_of, two: Path, tmp_path: Path) -> None:
    compute(plan_of(two))
    before = read_run(tmp_path / "out" / "scene00")
    pixels, _ = read_pgm(two / "scene00_left.pgm")
    write_pgm(two / "scene00_left.pgm", np.where(pixels > 60000, pixels, pixels + 64))
    plan = plan_of(two)
    assert [entry.name for entry in plan.pending] == ["scene00"]
    assert plan.pending[0].folder == f"scene00-{plan.pending[0].key[:8]}"
    compute(plan)
    after = read_run(tmp_path / "out" / "scene00")
    np.testing.assert_array_equal(after.all_in_focus, before.all_in_focus)


def test_what_decides_a_result_is_in_the_key(
    plan_of, two: Path, settings: FitSettings, calibration_path: Path, tmp_path: Path
) -> None:
    def keys(plan: Plan) -> set[str]:
        return {entry.key for entry in plan.pending}

    first = keys(plan_of(two))
    assert first == keys(plan_of(two, settings=settings.changed(threads=2, device="auto")))
    assert not first & keys(plan_of(two, settings=settings.changed(layers=5)))
    assert not first & keys(plan_of(two, black=4000.0))
    calibration = load_calibration(calibration_path)
    other = tmp_path / "other.dpcal"
    save_calibration(type(calibration)(**{**vars(calibration), "orientation": "other"}), other)
    assert not first & keys(make_plan([two], other, tmp_path / "out", settings))


def test_equal_captures_are_computed_once(plan_of, two: Path) -> None:
    for path in list(two.glob("scene00_*.pgm")):
        shutil.copy(path, two / path.name.replace("scene00", "copy"))
    plan = plan_of(two)
    assert len(plan.entries) == 3
    assert len(plan.pending) == 2
    assert len({entry.folder for entry in plan.entries if entry.key == plan.pending[0].key}) == 1


def test_captures_of_one_name_get_folders_of_their_own(plan_of, two: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in two.glob("scene01_*.pgm"):
        shutil.copy(path, other / path.name.replace("scene01", "scene00"))
    folders = [entry.folder for entry in plan_of(two, other).entries]
    assert folders[:2] == ["scene00", "scene01"]
    plan = plan_of(other / "scene00_left.pgm", two / "scene00_left.pgm")
    assert len({entry.folder for entry in plan.pending}) == 2


def test_an_incomplete_run_is_not_finished(plan_of, two: Path, tmp_path: Path) -> None:
    compute(plan_of(two))
    (tmp_path / "out" / "scene01" / "mpi.tif").unlink()
    assert [entry.name for entry in plan_of(two).pending] == ["scene01"]
    assert set(RUN_FILES) - {p.name for p in (tmp_path / "out" / "scene01").iterdir()}


def test_failed_captures_are_tried_again(plan_of, two: Path, tmp_path: Path) -> None:
    plan = plan_of(two)
    (tmp_path / "out").mkdir()
    failed = tuple(entry.after("failed", "lost") for entry in plan.entries)
    write_index(tmp_path / "out", Index(captures=failed))
    assert len(plan_of(two).pending) == 2


def test_a_folder_without_captures_is_named(plan_of, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        CaptureError, match="empty contains no complete dual-pixel capture; specify"
    ):
        plan_of(tmp_path / "empty")
    with pytest.raises(CaptureError, match="none does not exist"):
        plan_of(tmp_path / "none")


def test_a_folder_in_the_way_is_named(plan_of, two: Path, tmp_path: Path) -> None:
    key = plan_of(two).pending[0].key
    (tmp_path / "out" / "scene00").mkdir(parents=True)
    (tmp_path / "out" / f"scene00-{key[:8]}").mkdir()
    with pytest.raises(ResultError, match="exists, but is not a run of this batch"):
        plan_of(two)
