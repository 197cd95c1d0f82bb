"""The published calibration folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.errors import CalibrationError


@pytest.fixture
def folder(pixel4_data: Path, tmp_path: Path) -> Path:
    """A copy of the published calibration that a test may damage."""
    copy = tmp_path / "calibration"
    shutil.copytree(pixel4_data / "pixel4" / "calibration", copy)
    copy.chmod(0o755)
    for path in copy.iterdir():
        path.chmod(0o644)
    return copy


def test_the_published_folder_is_read(pixel4_data: Path):
    calibration = load_calibration(pixel4_data / "pixel4" / "calibration")
    assert calibration.kernels.shape == (48, 2, 61, 61)
    right = np.load(pixel4_data / "pixel4" / "calibration" / "blur_kernels_right.npy")
    np.testing.assert_array_equal(calibration.kernels[13, 1], right[13])
    assert calibration.vignetting.shape == (2, 1512, 2016)
    assert (calibration.rows, calibration.cols) == (6, 8)
    assert calibration.camera == "Google Pixel 4"


def test_the_published_folder_survives_a_save(pixel4_data: Path, tmp_path: Path):
    calibration = load_calibration(pixel4_data / "pixel4")
    save_calibration(calibration, tmp_path / "pixel4.dpcal")
    loaded = load_calibration(tmp_path / "pixel4.dpcal")
    assert loaded.content_hash() == calibration.content_hash()


def test_a_missing_kernel_file_is_named(tmp_path: Path):
    message = r"is not a calibration folder: blur_kernels_left\.npy is missing"
    with pytest.raises(CalibrationError, match=message):
        load_calibration(tmp_path)


def test_an_object_array_npy_is_refused(folder: Path):
    kernels = np.load(folder / "blur_kernels_left.npy")
    np.save(folder / "blur_kernels_left.npy", kernels.astype(object), allow_pickle=True)
    with pytest.raises(CalibrationError, match=r"blur_kernels_left\.npy contains Python objects"):
        load_calibration(folder)


def test_a_text_file_named_npy_is_refused(folder: Path):
    (folder / "blur_kernels_left.npy").write_text("not an array")
    with pytest.raises(CalibrationError, match=r"blur_kernels_left\.npy is not a NumPy array"):
        load_calibration(folder)


def test_views_of_different_shape_are_refused(folder: Path):
    np.save(folder / "blur_kernels_left.npy", np.ones((48, 59, 59), np.float32))
    message = r"have different shapes, \(48, 59, 59\) and \(48, 61, 61\)"
    with pytest.raises(CalibrationError, match=message):
        load_calibration(folder)


def test_kernels_without_a_tile_axis_are_refused(folder: Path):
    np.save(folder / "blur_kernels_left.npy", np.ones((61, 61), np.float32))
    with pytest.raises(CalibrationError, match=r"has shape \(61, 61\); expected \(tiles, K, K\)"):
        load_calibration(folder)


def test_a_white_sheet_of_another_size_is_refused(folder: Path):
    import cv2

    cv2.imwrite(str(folder / "white_sheet_left.png"), np.full((100, 200), 5000, np.uint16))
    message = r"has 100 x 200 px and 1 channels of uint16; expected 1512 x 2016 px"
    with pytest.raises(CalibrationError, match=message):
        load_calibration(folder)


def test_a_damaged_white_sheet_is_refused(folder: Path):
    content = (folder / "white_sheet_right.png").read_bytes()
    (folder / "white_sheet_right.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(CalibrationError, match=r"white_sheet_right\.png is damaged"):
        load_calibration(folder)
