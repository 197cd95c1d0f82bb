"""Ground-truth files: scale, confidence, the published layout, and refusals."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation import (
    defocus_path,
    image_scores,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.evaluation.ground_truth import find_defocus


def write(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), pixels)
    return path


def test_a_sixteen_bit_image_is_divided_by_65535(tmp_path: Path) -> None:
    pixels = np.array([[0, 65535], [13107, 1]], np.uint16)
    sharp = load_sharp(write(sharp_path(tmp_path, "001"), pixels))
    assert sharp.shape == (1, 2, 2)
    np.testing.assert_allclose(sharp[0], [[0.0, 1.0], [0.2, 1 / 65535]], rtol=1e-6)


def test_colours_come_as_red_green_blue(tmp_path: Path) -> None:
    blue_green_red = np.array([[[10, 20, 30]]], np.uint8)
    sharp = load_sharp(write(tmp_path / "colour.png", blue_green_red))
    np.testing.assert_allclose(sharp[:, 0, 0] * 255, [30, 20, 10], rtol=1e-5)


def test_zero_in_a_defocus_map_is_no_confidence(tmp_path: Path) -> None:
    truth = load_defocus(
        write(defocus_path(tmp_path, "001"), np.array([[0, 1], [51, 255]], np.uint8))
    )
    np.testing.assert_array_equal(truth.confidence, [[0, 1], [1, 1]])
    np.testing.assert_allclose(truth.defocus, [[0, 1 / 255], [0.2, 1]], rtol=1e-6)


def test_a_grey_map_saved_with_three_channels_is_read(tmp_path: Path) -> None:
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    truth = load_defocus(write(tmp_path / "map.png", np.repeat(grey[..., None], 3, axis=2)))
    np.testing.assert_allclose(truth.defocus * 255, grey, atol=1e-4)


def test_a_float_file_is_taken_as_it_is(tmp_path: Path) -> None:
    pixels = np.array([[0.25, np.nan], [0.0, 3.0]], np.float32)
    np.testing.assert_array_equal(load_sharp(write(tmp_path / "a.tif", pixels))[0], pixels)
    truth = load_defocus(tmp_path / "a.tif")
    np.testing.assert_array_equal(truth.confidence, [[1, 0], [0, 1]])


SIGNED_VALUES = np.array([[-0.5, np.nan], [0.0, 0.75]], np.float32)


@pytest.mark.parametrize("suffix", [".tif", ".npy"])
def test_floats_with_negative_values_are_signed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"map{suffix}"
    if suffix == ".npy":
        np.save(path, SIGNED_VALUES.astype(np.float64))
    else:
        write(path, SIGNED_VALUES)
    truth = load_defocus(path)
    assert truth.sign == "signed"
    np.testing.assert_array_equal(truth.confidence, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(truth.defocus, [[-0.5, 0], [0, 0.75]])


def test_floats_without_negative_values_are_signed_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path / "map.tif", np.abs(SIGNED_VALUES))
    assert load_defocus(path).sign == "one-sided"
    np.testing.assert_array_equal(load_defocus(path).confidence, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(load_defocus(path, "signed").confidence, [[1, 0], [1, 1]])


def test_sixteen_bits_are_signed_on_demand(tmp_path: Path) -> None:
    stored = np.array([[0, 32768], [32768 - 8192, 32768 + 4096]], np.uint16)
    path = write(tmp_path / "map.png", stored)
    truth = load_defocus(path, "signed")
    np.testing.assert_array_equal(truth.confidence, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(truth.defocus, [[0, 0], [-1, 0.5]])
    plain = load_defocus(path)
    assert plain.sign == "one-sided"
    np.testing.assert_allclose(plain.defocus, stored / 65535, rtol=1e-6)


def test_unsigned_truth_is_the_amount_of_blur(tmp_path: Path) -> None:
    truth = load_defocus(write(tmp_path / "map.tif", SIGNED_VALUES), "unsigned")
    assert truth.sign == "unsigned"
    np.testing.assert_array_equal(truth.defocus, [[0.5, 0], [0, 0.75]])
    np.testing.assert_array_equal(truth.confidence, [[1, 0], [0, 1]])


def test_eight_bits_are_too_few_for_a_sign(tmp_path: Path) -> None:
    path = write(tmp_path / "map.png", np.zeros((2, 2), np.uint8))
    with pytest.raises(
        EvaluationError, match=r"map\.png has 8 bits, too few for a signed map; save"
    ):
        load_defocus(path, "signed")


def test_an_array_of_another_shape_or_type_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    with pytest.raises(
        EvaluationError, match=r"cube\.npy has shape \(2, 3, 4\); expected \(height"
    ):
        load_defocus(tmp_path / "cube.npy")
    np.save(tmp_path / "whole.npy", np.zeros((2, 3), np.int32))
    with pytest.raises(EvaluationError, match=r"whole\.npy has dtype int32; expected floating"):
        load_defocus(tmp_path / "whole.npy")
    (tmp_path / "broken.npy").write_bytes(b"nothing")
    with pytest.raises(EvaluationError, match=r"broken\.npy is not a NumPy array file"):
        load_defocus(tmp_path / "broken.npy")


def test_the_map_of_a_scene_may_have_any_format(tmp_path: Path) -> None:
    png = defocus_path(tmp_path, "001")
    assert find_defocus(tmp_path, "001") == png, "what is missing is named as published"
    png.parent.mkdir()
    np.save(png.with_name("001_gt.npy"), SIGNED_VALUES)
    assert find_defocus(tmp_path, "001") == png.with_name("001_gt.npy")
    write(png, np.ones((2, 2), np.uint8))
    assert find_defocus(tmp_path, "001") == png


def test_a_coloured_map_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "map.png", np.array([[[1, 2, 3]]], np.uint8))
    with pytest.raises(EvaluationError, match=r"map\.png is a colour image; use a greyscale"):
        load_defocus(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"image .*none\.png does not exist; check the path"):
        load_sharp(tmp_path / "none.png")


@pytest.mark.parametrize("content", [b"", b"not a picture at all"])
def test_a_broken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(EvaluationError, match=r"broken\.png cannot be read; expected an 8-bit"):
        load_defocus(path)


def test_the_blurred_input_scores_as_published(pixel4_data: Path) -> None:
    """Guards the scale of the metrics: without the division by the maximum it would be 37 dB."""

    def view(name: str) -> np.ndarray:
        raw = cv2.imread(str(pixel4_data / "pixel4" / name), cv2.IMREAD_UNCHANGED).astype(
            np.float32
        )
        return np.maximum(raw - 1024, 0) / 16383

    white = [
        cv2.blur(view(f"calibration/white_sheet_{s}.png"), (101, 101)) for s in ("left", "right")
    ]
    mean = (view("005_left.png") + view("005_right.png") * white[0] / white[1]) / 2
    crop = mean[252 : 252 + 1008, 336 : 336 + 1344]
    scores = image_scores(crop, load_sharp(sharp_path(pixel4_data / "pixel4", "005")))
    assert scores.alignment.warning is None
    assert scores.psnr_db == pytest.approx(30.26, abs=0.05)
    assert scores.ssim == pytest.approx(0.845, abs=0.005)
    assert scores.mae == pytest.approx(0.0144, abs=0.0003)
