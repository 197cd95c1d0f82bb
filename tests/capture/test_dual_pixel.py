from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from napari_dpdeblur.capture import estimate_black, open_capture
from napari_dpdeblur.capture.levels import srgb_to_linear
from napari_dpdeblur.errors import CaptureError


def test_views_are_black_subtracted_divided_by_white_and_clipped(make_capture):
    raw = np.array([0, 1024, 16383, 1024 + 16383], np.uint16).reshape(1, 1, 1, 4).repeat(2, 0)
    capture = make_capture(raw, black=1024.0, white=16383.0)
    np.testing.assert_allclose(capture.views[0, 0, 0], [0, 0, 15359 / 16383, 1], rtol=1e-6)
    assert capture.views.dtype == np.float32


def test_srgb_views_are_linearised(make_capture):
    raw = np.array([0, 10, 128, 255], np.uint8).reshape(1, 1, 1, 4).repeat(2, 0)
    capture = make_capture(raw, white=255.0, encoding="srgb")
    expected = [0, 10 / 255 / 12.92, ((128 / 255 + 0.055) / 1.055) ** 2.4, 1]
    np.testing.assert_allclose(capture.views[1, 0, 0], expected, rtol=1e-5)


def test_srgb_curve_is_continuous_at_the_toe():
    below, above = srgb_to_linear(np.array([0.04045, 0.0404501]))
    assert above - below == pytest.approx(0, abs=1e-6)


def test_raw_and_views_are_read_only(make_capture):
    capture = make_capture(np.ones((2, 1, 3, 3), np.uint16))
    with pytest.raises(ValueError, match="read-only"):
        capture.raw[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        capture.views[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        capture.black = 1.0


def test_square_pixels_interpolate_rows_between_pixel_centres(make_capture):
    raw = np.array([[0.0], [8.0], [16.0]], np.float32).reshape(1, 1, 3, 1).repeat(2, 0)
    square = make_capture(raw, pixel_aspect=2.0).with_square_pixels()
    np.testing.assert_allclose(square.raw[0, 0, :, 0], [0, 2, 6, 10, 14, 16])
    assert (square.pixel_aspect, square.row_upsampling) == (1.0, 2)


def test_square_pixels_of_a_square_capture_are_the_capture(make_capture):
    capture = make_capture(np.ones((2, 3, 4, 5), np.uint16))
    assert capture.with_square_pixels() is capture


def test_square_pixels_keep_the_invalid_mask_aligned(make_capture):
    invalid = np.array([[False], [True]])
    capture = make_capture(np.ones((2, 1, 2, 1), np.uint16), pixel_aspect=2.0, invalid=invalid)
    assert capture.with_square_pixels().invalid[:, 0].tolist() == [False, False, True, True]


def test_crop_takes_the_window_from_views_and_mask(make_capture):
    raw = np.arange(2 * 4 * 5, dtype=np.uint16).reshape(2, 1, 4, 5)
    capture = make_capture(raw, invalid=raw[0, 0] == 7).cropped(1, 2, 2, 3)
    np.testing.assert_array_equal(capture.raw, raw[:, :, 1:3, 2:5])
    assert capture.invalid.tolist() == [[True, False, False], [False, False, False]]


@pytest.mark.parametrize("window", [(-1, 0, 2, 2), (3, 0, 2, 2), (0, 4, 2, 2), (0, 0, 0, 2)])
def test_crop_outside_is_refused(make_capture, window):
    capture = make_capture(np.ones((2, 1, 4, 5), np.uint16))
    with pytest.raises(CaptureError, match=r"does not fit inside scene \(4 x 5 px\)"):
        capture.cropped(*window)


@pytest.mark.parametrize("shape", [(2, 4, 5), (1, 1, 4, 5), (2, 2, 4, 5), (2, 1, 0, 5)])
def test_wrong_shape_is_refused(make_capture, shape):
    with pytest.raises(CaptureError, match="scene: a capture must have shape"):
        make_capture(np.ones(shape, np.uint16))


def test_wrong_type_is_refused(make_capture):
    with pytest.raises(CaptureError, match="must be uint8, uint16 or float32, not int64"):
        make_capture(np.ones((2, 1, 4, 5), np.int64))


def test_nan_is_refused(make_capture):
    with pytest.raises(CaptureError, match="contain NaN or infinity"):
        make_capture(np.full((2, 1, 4, 5), np.nan, np.float32))


@pytest.mark.parametrize(("black", "white"), [(5, 5), (-1, 5), (float("nan"), 5), (0, 0)])
def test_impossible_levels_are_refused(make_capture, black, white):
    with pytest.raises(CaptureError, match=r"black level .* at least 0 and below the white"):
        make_capture(np.ones((2, 1, 4, 5), np.uint16), black=black, white=white)


def test_description_is_json_and_says_where_values_come_from(app_pair):
    description = open_capture(app_pair[0]).describe()
    assert json.loads(json.dumps(description)) == description
    assert description["format"] == "pixel-app-pgm"
    assert (description["height_px"], description["width_px"]) == (6, 10)
    assert (description["black"], description["white"]) == (4096, 65535)
    assert [len(digest) for digest in description["sha256"]] == [64, 64]


def test_black_level_that_fits_gives_no_warning(make_capture):
    raw = np.random.default_rng(0).normal(4096, 60, (2, 1, 50, 50)).astype(np.uint16)
    capture = make_capture(raw, black=4096.0)
    assert capture.describe()["warnings"] == []
    assert estimate_black(capture) == pytest.approx(4096, abs=250)


@pytest.mark.parametrize(("black", "text"), [(8000.0, "may be too high"), (0.0, "may be too low")])
def test_doubtful_black_level_gives_a_warning_and_stays(make_capture, black, text):
    capture = make_capture(np.full((2, 1, 50, 50), 4096, np.uint16), black=black)
    assert text in capture.describe()["warnings"][0]
    assert "4096" in capture.describe()["warnings"][0]
    assert capture.black == black


def test_identical_views_are_a_warning(make_capture):
    raw = np.random.default_rng(0).integers(0, 60000, (2, 1, 6, 8), dtype=np.uint16)
    assert "identical" not in str(make_capture(raw.copy()).describe()["warnings"])
    raw[1] = raw[0]
    assert (
        "The two views are identical; unless the whole scene is in focus, one file is a copy of "
        "the other." in (make_capture(raw).describe()["warnings"])
    )


def test_a_transposed_capture_keeps_its_marks_and_its_pixels(make_capture):
    raw = np.random.default_rng(0).integers(0, 60000, (2, 3, 6, 8), dtype=np.uint16)
    invalid = np.zeros((6, 8), bool)
    invalid[1, 5] = True
    capture = make_capture(raw, invalid=invalid, pixel_aspect=2.0).with_orientation("transposed")
    assert capture.invalid is not None
    assert capture.invalid[5, 1]
    assert (capture.shape, capture.pixel_aspect) == ((2, 3, 8, 6), 0.5)
