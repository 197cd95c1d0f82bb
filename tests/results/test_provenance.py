"""run.yaml: plain values only, complete and harmless."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import provenance as module
from napari_dpdeblur.results import software_versions
from napari_dpdeblur.results.provenance import read_provenance, write_provenance

HEADER = "format: napari-dpdeblur run\nformat_version: 1\n"


def test_everything_plain_comes_back(tmp_path: Path) -> None:
    shared = [1, 2]
    content = {"a": 1, "b": 0.1, "c": "x: y", "d": None, "e": True, "f": {"g": shared, "h": shared}}
    write_provenance(tmp_path / "run.yaml", content)
    assert read_provenance(tmp_path / "run.yaml") == content


def test_numpy_values_tuples_and_paths_become_plain(tmp_path: Path) -> None:
    content = {
        "array": np.arange(3),
        "single": np.float32(0.5),
        "double": np.float64(0.1),
        "count": np.int64(7),
        "flag": np.bool_(True),
        "crop": (1, 2),
        "path": Path("left.png"),
    }
    write_provenance(tmp_path / "run.yaml", content)
    assert yaml.safe_load((tmp_path / "run.yaml").read_text()) == {
        "format": "napari-dpdeblur run",
        "format_version": 2,
        "array": [0, 1, 2],
        "single": 0.5,
        "double": 0.1,
        "count": 7,
        "flag": True,
        "crop": [1, 2],
        "path": "left.png",
    }


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "settings: !!python/object/apply:os.getcwd []\n",
        HEADER + "settings: [1, 2\n",
        HEADER + "when: 2020-99-99\n",
        "\x00",
    ],
)
def test_anything_but_plain_yaml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ResultError, match=r"run\.yaml cannot be read because it is not plain YAML"):
        read_provenance(tmp_path / "run.yaml")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(b"\xff\xfe\x00\x01\xd8")
    with pytest.raises(ResultError, match="because it is not plain YAML"):
        read_provenance(tmp_path / "run.yaml")


def test_aliases_are_refused_because_they_can_multiply(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(HEADER + "a: &a [1, 1]\nb: [*a, *a]\n")
    with pytest.raises(ResultError, match="because it contains aliases"):
        read_provenance(tmp_path / "run.yaml")


@pytest.mark.parametrize("text", ["", "[]", "settings: {}", "format: other"])
def test_another_yaml_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ResultError, match="it does not start with 'format: napari-dpdeblur run'"):
        read_provenance(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("crop: [a, b, c, d]", "crop.0"),
        ("crop: ['1', '2', '3', '4']", "crop.0"),
        ("crop: [1, 2, 3]", "crop"),
        ("crop: [1, 2, 3, -4]", "crop.3"),
        ("crop: everything", "crop"),
        (f"crop: [1, 2, 3, {10**400}]", "crop.3"),
        ("capture: phone", "capture"),
        ("capture: {height_px: 1000000000, pixel_aspect: 'x'}", "capture.pixel_aspect"),
        (f"calibration: {{field: {{top: {10**400}}}}}", "calibration.field.top"),
        ("calibration: {field: {top: .nan}}", "calibration.field.top"),
        ("calibration: {frame_shape: [1, 2, 3]}", "calibration.frame_shape"),
        (f"placement: {{scale: [1, {10**400}]}}", "placement.scale.1"),
        ("placement: 3", "placement"),
        ("loss_history: 3", "loss_history"),
        ("notes: one sentence", "notes"),
        ("notes: [1]", "notes.0"),
        ("views_look_swapped: perhaps", "views_look_swapped"),
    ],
)
def test_an_entry_that_no_fit_writes_is_refused(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "run.yaml").write_text(HEADER + text + "\n")
    with pytest.raises(ResultError, match=rf"because its entry {where} is invalid \("):
        read_provenance(tmp_path / "run.yaml")


def test_entries_may_be_missing_empty_or_unknown(tmp_path: Path) -> None:
    text = "crop: null\ncapture: {name: 3}\ncalibration: null\nplacement: {}\nmore: [x]\n"
    (tmp_path / "run.yaml").write_text(HEADER + text)
    assert read_provenance(tmp_path / "run.yaml")["more"] == ["x"]


def test_a_later_format_asks_for_an_update(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("format: napari-dpdeblur run\nformat_version: 3\n")
    with pytest.raises(ResultError, match="version 3, but only versions 1 and 2 are supported; up"):
        read_provenance(tmp_path / "run.yaml")


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2_000_000)
    (tmp_path / "run.yaml").write_text(HEADER + "# " + "x" * 2_000_000)
    with pytest.raises(ResultError, match="because it is larger than 2 MB"):
        read_provenance(tmp_path / "run.yaml")


def test_a_folder_without_provenance_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"is not a run folder: it has no run\.yaml"):
        read_provenance(tmp_path / "run.yaml")


def test_versions_name_what_can_change_a_result() -> None:
    versions = software_versions()
    assert versions["numpy"] == np.__version__
    assert {"python", "torch", "napari-dpdeblur"} <= set(versions)


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"opencv-python": "4.9"}, {"opencv-python": "4.9"}),
        ({"opencv-contrib-python-headless": "4.8"}, {"opencv-contrib-python-headless": "4.8"}),
        ({}, {"opencv": cv2.__version__}),
    ],
)
def test_whichever_opencv_is_installed_is_recorded(
    installed: dict[str, str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    versions = software_versions()
    assert {n: v for n, v in versions.items() if n.startswith("opencv")} == expected
