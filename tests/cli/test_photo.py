"""`fit --photo` and `batch --photos` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.results import read_run

SIZE = (192, 256)


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a capture `scene`, its lens, and photos: right, mirrored and black."""
    folder = tmp_path_factory.mktemp("shots")
    colors = synthetic_scene(*SIZE, seed=3, channels=3)
    lens = synthetic_calibration(*SIZE, 2, 2)
    green = type(colors)(
        np.ascontiguousarray(colors.color[:, 1:2]), colors.alpha, 0.3 * colors.defocus_scales
    )
    capture = render_capture(green, lens.kernel_grid(), lens.vignetting, pixel_aspect=2)
    write_pgm_pair(folder, "scene", *capture.raw[:, 0], 2.0)
    save_calibration(lens, folder / "lens.dpcal")
    pixels = np.round(255 * linear_to_srgb(np.clip(colors.all_in_focus, 0, 1))).astype(np.uint8)
    photo = np.moveaxis(pixels, 0, -1)
    (folder / "photos").mkdir()
    Image.fromarray(photo).save(folder / "photos" / "scene_photo.png")
    Image.fromarray(photo[:, ::-1].copy()).save(folder / "mirrored.png")
    Image.fromarray(0 * photo + np.uint8((0, 0, 1))).save(folder / "black.png")
    return folder


def _arguments(shots: Path, photo: str, output: Path, *options: str) -> list[str]:
    files = [str(shots / "scene_left.pgm"), "--photo", str(shots / photo)]
    lens = ["--calibration", str(shots / "lens.dpcal")]
    return ["fit", *files, *lens, "-o", str(output), "--preset", "preview", *options]


def test_a_fit_with_a_photo_is_in_colour(
    shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "overlap.png"
    options = ("--overlap-picture", str(picture), "--json")
    assert main(_arguments(shots, "photos/scene_photo.png", tmp_path / "run", *options)) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["folder"] == str(tmp_path / "run")
    assert "overlap.png shows how the photo and the capture overlap." in printed.err
    assert picture.is_file()
    found = read_run(tmp_path / "run")
    assert found.all_in_focus.shape == (3, *SIZE)
    assert found.color_filled is not None


@pytest.mark.parametrize(
    ("photo", "text"),
    [("mirrored.png", "is mirrored; switch off"), ("black.png", "is black or uniform; choose")],
)
def test_a_wrong_photo_is_refused_with_a_picture(
    shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], photo: str, text: str
) -> None:
    assert main(_arguments(shots, photo, tmp_path / "run")) == 2
    assert text in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.overlap.png"]


def test_a_photo_that_is_no_file_and_a_damaged_one(
    shots: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """libtiff prints nothing."""
    assert main(_arguments(shots, "photos", tmp_path / "run")) == 2
    assert "photos is not a file; check the path." in capfd.readouterr().err
    Image.open(shots / "mirrored.png").save(tmp_path / "whole.tif")
    content = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "whole.tif").write_bytes(content[: len(content) // 2])
    assert main(_arguments(shots, str(tmp_path / "whole.tif"), tmp_path / "run")) == 2
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert "whole.tif is damaged or truncated; copy the file again." in said[0]


def test_an_overlap_picture_needs_a_photo(
    shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", str(shots / "scene_left.pgm"), "-o", str(tmp_path / "run")]
    words += ["--calibration", str(shots / "lens.dpcal")]
    assert main([*words, "--overlap-picture", str(tmp_path / "a.png")]) == 2
    assert "--overlap-picture needs a photo; add --photo." in capsys.readouterr().err


def test_a_batch_finds_photos_by_name(
    shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["batch", str(shots), "--calibration", str(shots / "lens.dpcal"), "--workers", "1"]
    words += ["-o", str(tmp_path / "out"), "--preset", "preview"]
    photos = ["--photos", str(shots / "photos")]
    assert main([*words, *photos]) == 0
    assert "1 of 1 captures have a photo in" in capsys.readouterr().err
    assert read_run(tmp_path / "out" / "scene").all_in_focus.shape[0] == 3
    assert main([*words, *photos, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished_before"] == 1
    assert main([*words, "--photos", str(tmp_path / "missing")]) == 2
    assert "The folder of photos" in capsys.readouterr().err
