"""A run folder comes back as it was written, appears complete or not at all, and is not lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import Result, check_run_folder, read_run, write_run
from napari_dpdeblur.results.atomic_folder import atomic_folder
from napari_dpdeblur.results.run_folder import RUN_FILES
from robustness_seeds import full_run

MakeResult = Callable[..., Result]


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system can only be mounted by root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_run_comes_back_as_it_was_written(
    tmp_path: Path, make_result: MakeResult, channels: int
) -> None:
    result = make_result(channels)
    folder = write_run(result, tmp_path / "new" / "run")
    assert entries(folder) == sorted(RUN_FILES)
    back = read_run(folder)
    np.testing.assert_array_equal(back.all_in_focus, result.all_in_focus)
    np.testing.assert_array_equal(back.defocus_map, result.defocus_map)
    np.testing.assert_array_equal(back.confidence, result.confidence)
    np.testing.assert_allclose(back.mpi_color, result.mpi_color, rtol=6e-4, atol=1e-7)
    np.testing.assert_allclose(back.mpi_alpha, result.mpi_alpha, rtol=6e-4, atol=1e-7)
    np.testing.assert_array_equal(back.mpi_alpha[0], 1.0)
    np.testing.assert_array_equal(back.defocus_scales, result.defocus_scales)
    assert back.provenance == result.provenance


def test_both_signs_of_defocus_come_back(tmp_path: Path, make_result: MakeResult) -> None:
    result = make_result(scales=(0.8, -0.8), layers=5)
    notes = {"notes": ["The front was derived."], "views_look_swapped": True}
    result = replace(result, provenance={**result.provenance, **notes})
    back = read_run(write_run(result, tmp_path / "run"))
    assert result.defocus_map.min() < -0.7
    np.testing.assert_array_equal(back.defocus_map, result.defocus_map)
    np.testing.assert_allclose(back.defocus_scales, [0.8, 0.4, 0.0, -0.4, -0.8], atol=1e-12)
    assert (back.notes, back.views_look_swapped) == (["The front was derived."], True)
    assert repr(back).endswith("5 layers, defocus -0.80 to 0.80>")


def test_a_run_without_notes_has_none(make_result: MakeResult) -> None:
    result = make_result()
    assert (result.notes, result.views_look_swapped) == ([], False)


@pytest.mark.parametrize(("channels", "shape"), [(1, (20, 30)), (3, (20, 30, 3))])
def test_the_image_is_a_plain_float_tiff(
    tmp_path: Path, make_result: MakeResult, channels: int, shape: tuple[int, ...]
) -> None:
    folder = write_run(make_result(channels), tmp_path / "run")
    image = tifffile.imread(folder / "all_in_focus.tif")
    assert image.dtype == np.float32
    assert image.shape == shape
    with tifffile.TiffFile(folder / "all_in_focus.tif") as tiff:
        assert "(raw - black) / white" in tiff.pages.first.description


def test_the_preview_shows_three_panels(tmp_path: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    picture = cv2.imread(str(folder / "preview.png"))
    assert picture is not None
    assert picture.shape[1] > 3 * 30


def test_an_existing_run_is_not_overwritten(tmp_path: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    with pytest.raises(ResultError, match=r"run already exists; choose another name or enable"):
        write_run(make_result(brightness=0.1), folder)
    np.testing.assert_array_equal(read_run(folder).all_in_focus, make_result().all_in_focus)
    assert entries(tmp_path) == ["run"]


def test_an_existing_run_is_replaced_on_demand(tmp_path: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    write_run(make_result(brightness=0.1), folder, overwrite=True)
    assert read_run(folder).all_in_focus.max() < 0.11
    assert entries(tmp_path) == ["run"]


def test_overwriting_never_removes_foreign_files(tmp_path: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ResultError, match=r"contains notes\.txt, which is not part of a run; move"):
        write_run(make_result(), folder, overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_an_empty_folder_may_be_filled(tmp_path: Path, make_result: MakeResult) -> None:
    (tmp_path / "run").mkdir()
    write_run(make_result(), tmp_path / "run")
    assert entries(tmp_path / "run") == sorted(RUN_FILES)


def test_folders_inside_are_kept(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "out", overwrite=False, known_files=()) as partial:
        (partial / "inner").mkdir()
        (partial / "inner" / "file").write_text("content")
    assert (tmp_path / "out" / "inner" / "file").read_text() == "content"
    assert entries(tmp_path) == ["out"]


def test_a_relative_folder_is_taken_from_here(
    tmp_path: Path, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(make_result(), Path("run"))
    assert entries(tmp_path / "run") == sorted(RUN_FILES)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(ResultError, match="run is a file; choose the name of a new folder"):
        check_run_folder(tmp_path / "run", overwrite=True)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, make_result: MakeResult) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError) as caught:
        write_run(make_result(), tmp_path / "file" / "deep" / "run")
    assert str(caught.value) == (
        f"The output folder {tmp_path / 'file' / 'deep' / 'run'} cannot be created because "
        f"{tmp_path / 'file'} is not a folder; choose another location."
    )


def test_a_full_disk_leaves_nothing_behind(tiny_disk: Path, make_result: MakeResult) -> None:
    with pytest.raises(ResultError, match=r"run cannot be written \(.*\); free disk space or ch"):
        write_run(make_result(height=200, width=200), tiny_disk / "run")
    assert entries(tiny_disk) == []


def test_a_full_disk_keeps_the_run_that_was_there(tiny_disk: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tiny_disk / "run")
    with pytest.raises(ResultError, match="cannot be written"):
        write_run(make_result(height=200, width=200), folder, overwrite=True)
    assert entries(tiny_disk) == ["run"]
    np.testing.assert_array_equal(read_run(folder).all_in_focus, make_result().all_in_focus)


def test_an_entry_that_yaml_cannot_hold_leaves_nothing_behind(
    tmp_path: Path, make_result: MakeResult
) -> None:
    result = make_result()
    result.provenance["settings"]["device"] = object()
    with pytest.raises(ResultError, match=r"entry run\.settings\.device has type object, which"):
        write_run(result, tmp_path / "run")
    assert entries(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="file rights are those of POSIX")
def test_others_may_read_the_folder(tmp_path: Path, make_result: MakeResult) -> None:
    (tmp_path / "plain").mkdir()
    folder = write_run(make_result(), tmp_path / "run")
    assert folder.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("name", ["all_in_focus.tif", "defocus_map.tif", "mpi.tif"])
def test_a_missing_file_is_named(tmp_path: Path, make_result: MakeResult, name: str) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    (folder / name).unlink()
    with pytest.raises(ResultError, match=f"{name} does not exist; choose a complete run folder"):
        read_run(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="none does not exist; check the path"):
        read_run(tmp_path / "none")


def test_files_of_different_runs_are_refused(tmp_path: Path, make_result: MakeResult) -> None:
    folder = write_run(make_result(), tmp_path / "run")
    other = write_run(make_result(height=21), tmp_path / "other")
    (other / "defocus_map.tif").replace(folder / "defocus_map.tif")
    with pytest.raises(ResultError, match=r"defocus_map has shape \(21, 30\), expected \(20, 30\)"):
        read_run(folder)


@pytest.mark.parametrize("change", ["smaller", "nan", "infinite"])
def test_stored_views_that_are_no_pair(tmp_path: Path, change: str) -> None:
    folder = full_run(tmp_path / "run")
    assert read_run(folder).capture is not None
    view = np.full((12, 15) if change == "smaller" else (12, 16), 1000, np.float32)
    view[0, 0] = {"nan": np.nan, "infinite": np.inf}.get(change, 1000)
    tifffile.imwrite(folder / "right_view.tif", view)
    with pytest.raises(ResultError, match="are not the views of one capture: they differ in size"):
        read_run(folder)


def test_stored_views_beyond_their_type_are_left_out(tmp_path: Path) -> None:
    folder = full_run(tmp_path / "run")
    tifffile.imwrite(folder / "left_view.tif", np.full((12, 16), 1e30, np.float32))
    assert read_run(folder).capture is None
