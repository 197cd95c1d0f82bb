"""Calibrations on disk: `.dpcal` files."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration, load_calibration, save_calibration
from napari_dpdeblur.calibration.verdict import verdict_lines
from napari_dpdeblur.errors import CalibrationError


@pytest.fixture
def saved(calibration: Calibration, tmp_path: Path) -> Path:
    path = tmp_path / "phone.dpcal"
    save_calibration(calibration, path)
    return path


def rewrite(path: Path, changes: dict[str, bytes | None]) -> None:
    """Replace (or, with None, remove) members of the zip."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members.update(changes)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)


def changed_header(path: Path, **changes: object) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return json.dumps({**json.loads(archive.read("header.json")), **changes}).encode()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def test_a_saved_calibration_comes_back_whole(calibration, saved):
    loaded = load_calibration(saved)
    np.testing.assert_array_equal(loaded.kernels, calibration.kernels)
    np.testing.assert_array_equal(loaded.vignetting, calibration.vignetting)
    assert loaded.describe() == calibration.describe()


def test_an_excess_is_saved_and_none_is_left_out(calibration, saved, tmp_path):
    """So that versions which do not know of it read all other files."""
    with zipfile.ZipFile(saved) as archive:
        assert "excess_variance_px2" not in json.loads(archive.read("header.json"))
    wide = dataclasses.replace(calibration, excess_variance_px2=(4.0, 1.5))
    save_calibration(wide, tmp_path / "wide.dpcal")
    assert load_calibration(tmp_path / "wide.dpcal").describe() == wide.describe()


@pytest.fixture
def two_sided(calibration: Calibration) -> Calibration:
    front = calibration.kernels[..., ::-1, ::-1]
    return dataclasses.replace(calibration, front_kernels=front, front_scale=-0.75)


def test_a_front_grid_comes_back_in_a_file_of_version_2(two_sided, tmp_path):
    path = tmp_path / "both.dpcal"
    save_calibration(two_sided, path)
    loaded = load_calibration(path)
    np.testing.assert_array_equal(loaded.front_kernels, two_sided.front_kernels)
    assert loaded.front_scale == -0.75
    assert loaded.describe() == two_sided.describe()
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("header.json"))["version"] == 2


def test_without_a_front_grid_the_file_is_of_version_1(saved):
    """Programs that do not know of the front read it; those refuse version 2."""
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read("header.json"))
        assert archive.namelist() == ["header.json", "kernels.npy", "vignetting.npy"]
    assert header["version"] == 1
    assert not [name for name in header if "front" in name]


def test_a_part_of_the_front_is_refused(two_sided, saved, tmp_path):
    path = tmp_path / "both.dpcal"
    save_calibration(two_sided, path)
    rewrite(path, {"front_kernels.npy": None})
    with pytest.raises(CalibrationError, match=r"of its kernels in front .* only a part is there"):
        load_calibration(path)
    rewrite(saved, {"header.json": changed_header(saved, front_scale=-1.0)})
    with pytest.raises(CalibrationError, match="only a part is there"):
        load_calibration(saved)
    save_calibration(two_sided, path)
    rewrite(path, {"header.json": changed_header(path, version=1)})
    with pytest.raises(CalibrationError, match="only a part is there"):
        load_calibration(path)


def test_a_front_grid_of_another_size_in_a_file_names_the_file(two_sided, tmp_path):
    path = tmp_path / "both.dpcal"
    save_calibration(two_sided, path)
    rewrite(path, {"front_kernels.npy": npy(np.ones((6, 2, 7, 7), np.float32))})
    with pytest.raises(CalibrationError, match=r"both\.dpcal: The kernels in front"):
        load_calibration(path)


CHECK = {"name": "noise", "value": 0.1, "grade": "bad", "meaning": "noise", "remedy": "More."}


@pytest.mark.parametrize(
    ("verdict", "where"),
    [
        ({"grade": ["good"]}, "'grade'"),
        ({"grade": "bad", "checks": "all"}, "'checks'"),
        ({"grade": "bad", "checks": [CHECK, {"grade": "bad"}]}, "'checks.1.name'"),
        ({"grade": "bad", "checks": [{**CHECK, "value": "much"}]}, "'checks.0.value'"),
        ({"grade": "bad", "checks": [{**CHECK, "value": float("nan")}]}, "'checks.0.value'"),
        ({"grade": "bad", "notes": [{}]}, "'notes.0'"),
        ({"filled_tiles": [-1]}, "'filled_tiles.0'"),
        ({"filled_tiles": [6]}, "lists tile 6, but there are only 6"),
        ({"front": {"filled_tiles": [6]}}, "lists tile 6, but there are only 6"),
        ({"front": {"grade": 1}}, "'front.grade'"),
    ],
)
def test_a_verdict_that_no_run_writes(saved, verdict, where):
    rewrite(saved, {"header.json": changed_header(saved, verdict=verdict)})
    with pytest.raises(CalibrationError, match=where) as caught:
        load_calibration(saved)
    assert str(caught.value).startswith(str(saved))


def test_a_frame_larger_than_any_number(saved):
    header = changed_header(saved, frame_shape=[10**400, 10**400])
    rewrite(saved, {"header.json": header, "vignetting.npy": None})
    with pytest.raises(CalibrationError, match="is larger than 100000 px"):
        load_calibration(saved)


@pytest.mark.parametrize("verdict", [None, {}, {"checks": [CHECK]}, {"grade": "bad", "new": 1}])
def test_a_verdict_may_lack_entries_and_have_others(saved, verdict):
    rewrite(saved, {"header.json": changed_header(saved, verdict=verdict)})
    found = load_calibration(saved).verdict
    assert found == verdict
    assert verdict_lines(found or {})[0].startswith("verdict: ")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("discs", np.zeros((5, 3))),
        ("discs", np.zeros(4)),
        ("discs", np.full((5, 4), np.nan)),
        ("discs", np.full((5, 4), 1e9)),
        ("thumbnail", np.zeros((3, 4, 5))),
        ("thumbnail", np.zeros((0, 4))),
        ("thumbnail", np.zeros((4000, 1))),
        ("thumbnail", np.full((3, 4), np.inf)),
        ("residual", np.zeros((3, 4))),
        ("residual", np.zeros((1, 3, 4))),
        ("front_discs", np.zeros((5, 3))),
    ],
)
def test_pictures_that_no_run_writes(saved, name, array):
    rewrite(saved, {f"diagnostic_{name}.npy": npy(array.astype(np.float32))})
    with pytest.raises(CalibrationError, match=f"The diagnostic array '{name}' .* is invalid"):
        load_calibration(saved)


def test_unknown_pictures_are_passed_over(saved):
    rewrite(saved, {"diagnostic_later.npy": npy(np.full(3, np.nan, np.float32))})
    assert load_calibration(saved).diagnostics["later"].shape == (3,)


def test_a_calibration_without_vignetting_comes_back(calibration, tmp_path):
    import dataclasses

    bare = dataclasses.replace(calibration, vignetting=None, verdict=None, lens_constants=None)
    save_calibration(bare, tmp_path / "bare.dpcal")
    loaded = load_calibration(tmp_path / "bare.dpcal")
    assert loaded.vignetting is None
    assert loaded.describe() == bare.describe()


def test_numpy_opens_the_file_without_pickle(saved, calibration):
    with np.load(saved, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["kernels"], calibration.kernels)


def test_the_same_calibration_gives_the_same_bytes(calibration, saved, tmp_path):
    save_calibration(calibration, tmp_path / "again.dpcal")
    assert (tmp_path / "again.dpcal").read_bytes() == saved.read_bytes()


def test_a_failed_save_keeps_the_old_file_and_leaves_nothing_behind(
    calibration, saved, monkeypatch
):
    before = saved.read_bytes()

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(CalibrationError, match="cannot be written: No space left on device"):
        save_calibration(calibration, saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_a_missing_folder_is_named_on_save(calibration, tmp_path):
    with pytest.raises(CalibrationError, match=r"nowhere.*cannot be written: No such file"):
        save_calibration(calibration, tmp_path / "nowhere" / "a.dpcal")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CalibrationError, match=r"The calibration .*a\.dpcal does not exist"):
        load_calibration(tmp_path / "a.dpcal")


@pytest.mark.parametrize("kept_fraction", [0.0, 0.3, 0.9, 0.99])
def test_a_truncated_file_is_refused(saved, kept_fraction):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * kept_fraction)])
    with pytest.raises(CalibrationError, match="is not a calibration file or is truncated"):
        load_calibration(saved)


def test_a_damaged_byte_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    content[len(content) // 2] ^= 0xFF
    saved.write_bytes(bytes(content))
    with pytest.raises(CalibrationError, match="copy it again"):
        load_calibration(saved)


def test_a_newer_version_is_refused(saved):
    rewrite(saved, {"header.json": changed_header(saved, version=3)})
    message = "has format version 3, but only versions 1 and 2 are supported; update"
    with pytest.raises(CalibrationError, match=message):
        load_calibration(saved)


def test_another_kind_of_file_is_refused(saved):
    rewrite(saved, {"header.json": changed_header(saved, format="something else")})
    with pytest.raises(CalibrationError, match="is not a napari-dpdeblur calibration file"):
        load_calibration(saved)


def test_a_file_without_header_is_refused(saved):
    rewrite(saved, {"header.json": None})
    with pytest.raises(CalibrationError, match=r"it has no header\.json"):
        load_calibration(saved)


def test_a_header_that_is_not_json_is_refused(saved):
    rewrite(saved, {"header.json": b"{"})
    with pytest.raises(CalibrationError, match=r"has a damaged header\.json"):
        load_calibration(saved)


def test_a_huge_header_is_refused_before_it_is_read(saved):
    rewrite(saved, {"header.json": b" " * (1024**2 + 1)})
    with pytest.raises(CalibrationError, match="is larger than 1 MiB"):
        load_calibration(saved)


@pytest.mark.parametrize(
    ("changes", "entry"), [({"rows": "many"}, "rows"), ({"colour": 1}, "colour")]
)
def test_a_wrong_header_entry_is_named(saved, changes, entry):
    rewrite(saved, {"header.json": changed_header(saved, **changes)})
    with pytest.raises(CalibrationError, match=f"has an invalid entry '{entry}'"):
        load_calibration(saved)


def test_a_file_without_kernels_is_refused(saved):
    rewrite(saved, {"kernels.npy": None})
    with pytest.raises(CalibrationError, match="contains no blur kernels"):
        load_calibration(saved)


def test_an_object_array_is_refused(saved, kernels):
    rewrite(saved, {"kernels.npy": npy(kernels.astype(object))})
    with pytest.raises(CalibrationError, match="'kernels', contains Python objects"):
        load_calibration(saved)


def test_integers_are_refused(saved):
    rewrite(saved, {"kernels.npy": npy(np.ones((6, 2, 5, 5), np.int32))})
    with pytest.raises(CalibrationError, match="has dtype int32; expected floating-point"):
        load_calibration(saved)


def test_a_huge_claim_is_refused_before_allocation(saved):
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (10**6, 2, 1001, 1001)}
    np.lib.format.write_array_header_1_0(header, claim)
    rewrite(saved, {"kernels.npy": header.getvalue()})
    with pytest.raises(
        CalibrationError, match="declares 7644661 MiB of data, more than the limit of 512 MiB"
    ):
        load_calibration(saved)


def test_an_array_shorter_than_its_header_says_is_refused(saved, kernels):
    rewrite(saved, {"kernels.npy": npy(kernels)[:-8]})
    message = r"shape \(6, 2, 5, 5\) takes 1200 bytes, but 1192 follow"
    with pytest.raises(CalibrationError, match=message):
        load_calibration(saved)


def test_bad_kernels_in_a_file_name_the_file(saved, kernels):
    kernels[0, 0, 0, 0] = np.nan
    rewrite(saved, {"kernels.npy": npy(kernels)})
    with pytest.raises(CalibrationError, match=r"phone\.dpcal: Blur kernels contain NaN"):
        load_calibration(saved)
