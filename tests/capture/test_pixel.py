from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pgm import write_pgm, write_pgm_pair
from napari_dpdeblur.capture.pixel import published_values
from napari_dpdeblur.errors import CaptureError


def test_app_pair(app_pair):
    capture = open_capture(app_pair[0])
    assert capture.shape == (2, 1, 6, 10)
    assert (capture.black, capture.white, capture.pixel_aspect) == (4096, 65535, 2.0)
    assert (capture.encoding, capture.orientation, capture.row_upsampling) == (
        "linear",
        "landscape",
        1,
    )
    np.testing.assert_array_equal(capture.raw[0], capture.raw[1, :, :, ::-1])


def test_pgm_with_square_pixels_says_so(tmp_path: Path, noise):
    write_pgm_pair(tmp_path, "s", noise((4, 4)), noise((4, 4)), pixel_aspect=1.0)
    assert open_capture(tmp_path).pixel_aspect == 1.0


def test_levels_follow_the_largest_value_of_the_pgm(tmp_path: Path):
    for side in ("left", "right"):
        write_pgm(tmp_path / f"s_{side}.pgm", np.full((4, 4), 300, np.uint16), max_value=1023)
    capture = open_capture(tmp_path)
    assert capture.black == pytest.approx(63.94, abs=0.01)
    assert capture.white == 1023


def test_levels_can_be_overridden(app_pair):
    capture = open_capture(app_pair[1], black=4000, white=60000)
    assert (capture.black, capture.white) == (4000, 60000)


def test_app_pair_of_different_bit_depths(tmp_path: Path):
    write_pgm(tmp_path / "s_left.pgm", np.ones((4, 4), np.uint16))
    write_pgm(tmp_path / "s_right.pgm", np.ones((4, 4), np.uint8))
    with pytest.raises(
        CaptureError, match=r"s_left\.pgm and s_right\.pgm have different bit depth"
    ):
        open_capture(tmp_path / "s_right.pgm")


def test_app_pair_of_different_sizes(tmp_path: Path):
    write_pgm_pair(tmp_path, "s", np.ones((4, 4), np.uint16), np.ones((4, 5), np.uint16))
    with pytest.raises(CaptureError, match=r"have different sizes \(4 x 4 px and 5 x 4 px\)"):
        open_capture(tmp_path)


def test_truncated_app_file(app_pair):
    app_pair[1].write_bytes(app_pair[1].read_bytes()[:-7])
    with pytest.raises(CaptureError, match=r"_right\.pgm is truncated"):
        open_capture(app_pair[0])


def test_published_pair(published_pair):
    capture = open_capture(published_pair[1])
    assert capture.shape == (2, 1, 6, 10)
    assert (capture.black, capture.white) == (1024, 16383)
    assert (capture.pixel_aspect, capture.row_upsampling) == (1.0, 2)
    left = cv2.imread(str(published_pair[0]), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(capture.raw[0, 0], left)


@pytest.mark.parametrize(
    ("shape", "dtype", "kind"),
    [
        ((6, 10, 3), np.uint8, "8-bit RGB PNG"),
        ((6, 10), np.uint8, "8-bit greyscale PNG"),
        ((6, 10, 3), np.uint16, "16-bit RGB PNG"),
    ],
)
def test_other_png_with_a_published_name(tmp_path: Path, noise, write_image, shape, dtype, kind):
    for side in ("left", "right"):
        write_image(tmp_path / f"001_{side}.png", noise(shape, dtype, 200))
    with pytest.raises(CaptureError, match=rf"001_left\.png is not a 16-bit .* \({kind}\)"):
        open_capture(tmp_path / "001_left.png", format="pixel-published-png")
    write_image(tmp_path / "001_right.png", noise(shape, dtype, 200)[::-1])
    assert open_capture(tmp_path / "001_left.png").source.format == "picture-pair"


def test_16_bit_png_that_is_not_on_the_14_bit_scale(tmp_path: Path, noise, write_image):
    for side in ("left", "right"):
        write_image(tmp_path / f"001_{side}.png", noise((6, 10), high=60000))
    with pytest.raises(CaptureError, match=r"is not a 14-bit dual-pixel view: its values reach"):
        open_capture(tmp_path)
    assert open_capture(tmp_path, black=4096, white=65535).white == 65535


def test_published_pair_of_different_sizes(published_pair, noise, write_image):
    write_image(published_pair[1], noise((6, 9)))
    with pytest.raises(CaptureError, match=r"different sizes \(10 x 6 px and 9 x 6 px\)"):
        open_capture(published_pair[0])


def _write_portrait(folder: Path, write_image, dtype=np.uint16, names=("leftPd", "rightPd")):
    """A vertical edge pattern: the right view is the left one moved down by two rows."""
    rows = np.zeros((12, 8), dtype)
    rows[4] = 200
    paths = [
        folder / f"{side}_pd" / "20180302_mmmm" / f"result_{name}_center.png"
        for side, name in zip(("left", "right"), names, strict=True)
    ]
    return [write_image(path, np.roll(rows, 2 * i, axis=0)) for i, path in enumerate(paths)]


@pytest.mark.parametrize("names", [("leftPd", "rightPd"), ("bottom", "bottom")])
def test_portrait_pair_is_transposed_so_that_disparity_runs_along_x(tmp_path, write_image, names):
    left, right = _write_portrait(tmp_path, write_image, names=names)
    for opened in (left, right, left.parent, left.parents[1], tmp_path):
        capture = open_capture(opened)
        assert capture.orientation == "transposed"
        assert capture.shape == (2, 1, 8, 12)
        assert capture.name == "20180302_mmmm"
        assert [int(view[0, 0].argmax()) for view in capture.raw] == [4, 6]


def test_portrait_levels_by_depth_and_range(tmp_path, write_image):
    left, right = _write_portrait(tmp_path, write_image)
    assert (open_capture(left).black, open_capture(left).white) == (1024, 16383)
    write_image(right, np.full((12, 8), 40000, np.uint16))
    assert (open_capture(left).black, open_capture(left).white) == (4096, 65535)
    left, _ = _write_portrait(tmp_path / "eight", write_image, np.uint8)
    assert (open_capture(left).black, open_capture(left).white) == (0, 255)
    assert open_capture(left).encoding == "srgb"
    assert open_capture(left, encoding="linear").encoding == "linear"


def test_portrait_pair_in_rgb_is_refused(tmp_path, write_image, noise):
    left, right = _write_portrait(tmp_path, write_image)
    write_image(right, noise((12, 8, 3)))
    with pytest.raises(CaptureError, match=r"is an RGB image; expected a single"):
        open_capture(left)


def test_real_published_pair(pixel4_data: Path):
    capture = open_capture(pixel4_data / "pixel4" / "001_right.png")
    assert capture.shape == (2, 1, 1512, 2016)
    assert (capture.black, capture.white) == (1024, 16383)
    assert capture.views.min() >= 0
    assert 0.05 < capture.views.mean() < 0.3
    assert capture.describe()["warnings"] == []


def test_real_app_capture(pixel4_data: Path):
    capture = open_capture(pixel4_data / "app_capture")
    assert capture.shape == (2, 1, 756, 2016)
    assert (capture.pixel_aspect, capture.black) == (2.0, 4096)
    square = capture.with_square_pixels()
    assert square.shape == (2, 1, 1512, 2016)
    np.testing.assert_allclose(square.views.mean(), capture.views.mean(), rtol=1e-3)
    assert capture.describe()["warnings"] == []


def test_real_app_capture_on_the_published_scale(pixel4_data: Path):
    capture = open_capture(pixel4_data / "app_capture")
    values = published_values(capture)
    # 10-bit sensor values times 16: integers up to the app's rounding, black 1024, white 16368.
    assert np.abs(values / 16 - np.round(values / 16)).max() < 0.02
    assert values.max() == pytest.approx(1023 * 16)
    assert np.percentile(values, 0.1) == pytest.approx(1024, abs=32)
