from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.canon_r6 import (
    CANON_R6,
    PUBLISHED_URL,
    SCENES,
    depth_path,
    fetch_canon_r6,
    open_scene,
    read_depth_m,
)
from napari_dpdeblur.errors import DownloadError, EvaluationError

SCENE = "flat_0600_f4"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DPDEBLUR_CACHE", str(folder))
    return folder


@pytest.fixture
def mirror(canon_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published layout, with the scenes whose files are the published ones."""
    folder = tmp_path / "mirror"
    for scene in ("0600/f4", "0600/f20"):
        target = folder / "flat" / "001" / scene
        source = canon_data / f"flat_{scene.replace('/', '_')}"
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    monkeypatch.setenv("DPDEBLUR_CANON_R6_MIRROR", str(folder))
    return folder


def test_a_scene_is_fetched_and_opened_with_its_optics(mirror, cache, capfd):
    folder = fetch_canon_r6([SCENE, "flat_0600_f20"])
    assert folder == cache / "canon_r6"
    assert len(list(folder.rglob("*.png"))) == 4
    assert "4/4" in capfd.readouterr().err
    capture = open_scene(SCENE)
    assert (capture.name, capture.shape) == (SCENE, (2, 3, 512, 768))
    assert capture.optics is not None
    assert capture.optics.camera == "Canon EOS R6 Mark II"
    assert capture.optics.blur_diameter_px(0.6) == pytest.approx(9.4, abs=0.1)
    assert open_scene("flat_0600_f20").optics.f_number == 20
    assert depth_path(SCENE) is None


def test_the_command_prints_licence_and_citation(mirror, capsys):
    assert main(["fetch", "canon-r6", "--scenes", SCENE]) == 0
    printed = capsys.readouterr().out
    assert "MIT, Copyright (c) 2025 Fengchen He" in printed
    assert "He et al., Simulating Dual-Pixel Images From Ray Tracing" in printed


def test_a_second_fetch_needs_no_source(mirror, monkeypatch):
    fetch_canon_r6([SCENE], progress=False)
    monkeypatch.setenv("DPDEBLUR_CANON_R6_MIRROR", "http://127.0.0.1:9")
    fetch_canon_r6([SCENE], progress=False)
    assert open_scene(SCENE).shape == (2, 3, 512, 768)


def test_a_changed_file_is_refused_and_not_kept(mirror, cache):
    damaged = mirror / "flat" / "001" / "0600" / "f4" / "l.png"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    message = r"flat/001/0600/f4/l\.png from .* does not match its published checksum"
    with pytest.raises(DownloadError, match=message):
        fetch_canon_r6([SCENE], progress=False)
    assert not (cache / "canon_r6" / "flat" / "001" / "0600" / "f4" / "l.png").exists()


def test_no_network_is_one_sentence(monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CANON_R6_MIRROR", "http://127.0.0.1:9/data")
    message = (
        r"box/001/d\.png cannot be downloaded \(no connection\); "
        r"check the network connection, or set DPDEBLUR_CANON_R6_MIRROR to a folder"
    )
    with pytest.raises(DownloadError, match=message):
        fetch_canon_r6(["box_001"], progress=False)


@pytest.mark.parametrize("scene", ["box_006", "5", "cat"])
def test_an_unknown_scene_is_refused(scene):
    with pytest.raises(DownloadError, match=r"no published Canon R6 scene .*; choose one of box_0"):
        fetch_canon_r6([scene])


def test_the_address_is_the_authors_repository_at_a_fixed_commit():
    assert PUBLISHED_URL == (
        "https://raw.githubusercontent.com/LinYark/Sdirt/"
        "5fa8ff51b0e113303fb059a74347da90a5b1a58a/real_sample_set/"
    )


def test_every_published_file_is_in_the_registry(canon_data: Path):
    sums = (canon_data / "SHA256SUMS").read_text().split()
    names = [name.removeprefix("real_sample_set/") for name in sums[1::2]]
    assert CANON_R6.files() == dict(zip(names, sums[::2], strict=True))


def test_every_file_belongs_to_a_scene():
    from napari_dpdeblur.datasets.canon_r6 import FOLDERS

    folders = {name.rpartition("/")[0] for name in CANON_R6.files()}
    assert folders == set(FOLDERS.values())
    assert len(SCENES) == 21
    assert depth_path("orbbec_002").parts[-4:] == ("casual", "orbbec", "002", "d.png")


@pytest.mark.parametrize(("dtype", "unit_m"), [(np.uint8, 10 / 255), (np.uint16, 0.001)])
def test_depth_in_metres(tmp_path, dtype, unit_m):
    stored = np.array([[0, 1, 51], [100, 153, 255]], dtype)
    cv2.imencode(".png", stored)[1].tofile(tmp_path / "d.png")
    depth = read_depth_m(tmp_path / "d.png")
    assert np.isnan(depth[0, 0])
    np.testing.assert_allclose(depth.ravel()[1:], stored.ravel()[1:] * unit_m, rtol=1e-6)


def test_real_depth_lies_around_the_focus(canon_data):
    depth = read_depth_m(canon_data / "box_001" / "depth_mm.png")
    assert depth.shape == (512, 768)
    assert 0.3 < np.nanmin(depth) < 1.0 < np.nanmax(depth) < 10


def test_depth_that_cannot_be_read(tmp_path):
    (tmp_path / "d.png").write_text("deep")
    for name in ("d.png", "missing.png"):
        with pytest.raises(EvaluationError, match=rf"{name} cannot be read; expected an 8-bit"):
            read_depth_m(tmp_path / name)
