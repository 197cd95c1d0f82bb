from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from run_commands import run_one

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.pixel4 import PUBLISHED_URL, fetch_pixel4
from napari_dpdeblur.errors import DownloadError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DPDEBLUR_CACHE", str(folder))
    return folder


@pytest.fixture
def mirror(pixel4_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = pixel4_data / "pixel4"
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(folder))
    return folder


def test_scenes_come_with_calibration_and_ground_truth(mirror, cache, capfd):
    folder = fetch_pixel4(scenes=[5, "013"])
    assert folder == cache / "pixel4"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
    assert files == {
        *(f"{scene}_{view}.png" for scene in ("005", "013") for view in ("left", "right")),
        *(
            f"gt_{kind}/{n}_gt.png"
            for kind in ("all_in_focus_im", "defocus_map")
            for n in ("005", "013")
        ),
        *(f"calibration/blur_kernels_{view}.npy" for view in ("left", "right")),
        *(f"calibration/white_sheet_{view}.png" for view in ("left", "right")),
    }
    assert "12/12" in capfd.readouterr().err
    calibration = load_calibration(folder)
    assert calibration.prepare(open_capture(folder / "005_left.png")).shape == (2, 1, 1008, 1344)


def test_a_second_fetch_needs_no_source_and_can_be_silent(mirror, monkeypatch, capfd):
    fetch_pixel4(scenes=[], progress=False)
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", "http://127.0.0.1:9")
    folder = fetch_pixel4(scenes=[], progress=False)
    assert load_calibration(folder).kernels.shape == (48, 2, 61, 61)
    assert capfd.readouterr().err == ""


def test_a_damaged_file_in_the_cache_is_fetched_again(mirror):
    folder = fetch_pixel4(scenes=[], progress=False)
    damaged = folder / "calibration" / "blur_kernels_left.npy"
    damaged.write_bytes(b"damaged")
    fetch_pixel4(scenes=[], progress=False)
    assert damaged.read_bytes() == (mirror / "calibration" / damaged.name).read_bytes()


def test_a_corrupted_mirror_is_refused_and_not_kept(mirror, cache, tmp_path, monkeypatch):
    copy = tmp_path / "mirror"
    shutil.copytree(mirror / "calibration", copy / "calibration", copy_function=shutil.copyfile)
    white = copy / "calibration" / "white_sheet_left.png"
    white.write_bytes(white.read_bytes()[:-1] + b"x")
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(copy))
    message = r"calibration/white_sheet_left\.png from .* does not match its published checksum"
    with pytest.raises(DownloadError, match=message):
        fetch_pixel4(scenes=[], progress=False)
    assert not (cache / "pixel4" / "calibration" / "white_sheet_left.png").exists()


def test_a_mirror_without_the_scene_is_named(mirror):
    message = r"002_left\.png cannot be downloaded \(No such file or directory\); check"
    with pytest.raises(DownloadError, match=message):
        fetch_pixel4(scenes=[2], progress=False)


def test_no_network_is_one_sentence(monkeypatch):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", "http://127.0.0.1:9/data")
    message = (
        r"blur_kernels_left\.npy cannot be downloaded \(no "
        r"connection\); check the network connection, or set DPDEBLUR_PIXEL4_MIRROR"
    )
    with pytest.raises(DownloadError, match=message):
        fetch_pixel4(scenes=[], progress=False)


@pytest.mark.parametrize("scene", [0, 18, "cat"])
def test_an_unknown_scene_is_refused(scene):
    with pytest.raises(DownloadError, match=r"There is no published Pixel 4 scene .* 001 to 017"):
        fetch_pixel4(scenes=[scene])


def test_the_address_is_the_authors_repository_at_a_fixed_commit():
    assert PUBLISHED_URL == (
        "https://raw.githubusercontent.com/cmu-ci-lab/dual_pixel_defocus_estimation_deblurring/"
        "d6a92620163cb462ff5b77a813bc5c03b0dab240/DP_data_pixel_4/"
    )


def test_every_published_file_is_in_the_registry(pixel4_data: Path):
    from napari_dpdeblur.datasets.pixel4 import PIXEL4

    sums = (pixel4_data / "pixel4" / "SHA256SUMS").read_text().split()
    assert PIXEL4.files() == dict(zip(sums[1::2], sums[::2], strict=True))


def test_a_cache_that_cannot_be_written_is_named(mirror, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DownloadError, match=r"kept in the cache .*file is not a folder; set DPD"):
        fetch_pixel4(["1"], progress=False)


def test_a_cache_without_permission_is_named(mirror, tmp_path):
    cache = tmp_path / "locked"
    cache.mkdir(mode=0o500)
    environment = {**os.environ, "DPDEBLUR_CACHE": str(cache)}
    done = run_one("fetch", "pixel4", "--scenes", "1", rights=False, env=environment)
    assert done.returncode == 2
    assert f"because {cache} is not writable; set DPDEBLUR_CACHE to a folder" in done.stderr
    assert "network" not in done.stderr
