"""The pattern, its description, the pictures and the page."""

from __future__ import annotations

import base64
import json
import re

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration.target.pattern import (
    Target,
    load_target,
    pitch_for_screen,
    save_target,
)
from napari_dpdeblur.calibration.target.slides import TARGET_FILES, frame_pictures, write_target
from napari_dpdeblur.errors import CalibrationError


def test_the_picture_shows_the_discs_where_they_are_described():
    target = Target.for_screen(400, 300, 30.0)
    picture = target.picture() > 127
    count, _, stats, centres = cv2.connectedComponentsWithStats(picture.astype(np.uint8))
    assert count - 1 == target.rows * target.cols
    order = np.lexsort((np.rint(centres[1:, 0] / 30), np.rint(centres[1:, 1] / 30)))
    found = centres[1:][order].reshape(target.rows, target.cols, 2)
    np.testing.assert_allclose(found, target.centres_px, atol=0.1)
    radius = np.sqrt(stats[1:, cv2.CC_STAT_AREA][order] / np.pi).reshape(target.code.shape)
    expected = np.where(target.code, target.radii_px[1], target.radii_px[0])
    np.testing.assert_allclose(radius, expected, atol=0.3)


def test_edge_pixels_are_encoded_so_that_they_give_the_covered_light():
    target = Target.for_screen(400, 300, 30.0)
    display = target.picture() / 255
    light = np.where(display <= 0.04045, display / 12.92, ((display + 0.055) / 1.055) ** 2.4)
    radii = np.where(target.code, target.radii_px[1], target.radii_px[0])
    assert light.sum() == pytest.approx((np.pi * radii**2).sum(), rel=2e-3)


def test_no_part_of_the_pattern_looks_like_another_one():
    """Any 6 x 6 discs occur once, in any quarter turn."""
    code = Target.for_screen(1920, 1080, 48.0).code
    seen = set()
    windows = 0
    for row in range(code.shape[0] - 5):
        for col in range(code.shape[1] - 5):
            part = code[row : row + 6, col : col + 6]
            for turn in range(4):
                seen.add(np.rot90(part, turn).tobytes())
                windows += 1
    assert len(seen) == windows


def test_target_file_round_trip(tmp_path):
    target = Target.for_screen(640, 480, 33.0)
    save_target(target, tmp_path / "target.json")
    again = load_target(tmp_path / "target.json")
    assert again.describe() == target.describe()
    np.testing.assert_array_equal(again.picture(), target.picture())


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", '{"format": "something else"}', "\xff\xfe"],
)
def test_a_file_that_is_no_target(content, tmp_path):
    path = tmp_path / "target.json"
    path.write_text(content, "latin-1")
    with pytest.raises(CalibrationError, match=r"target\.json is not a calibration target"):
        load_target(path)


def test_a_target_with_ragged_rows_is_refused(tmp_path):
    path = tmp_path / "target.json"
    content = json.loads(json.dumps(Target.for_screen(640, 480, 33.0).describe()))
    content["sizes"][1] += "1"
    path.write_text(json.dumps(content))
    with pytest.raises(CalibrationError, match="is not a calibration target"):
        load_target(path)


def test_a_missing_target_file(tmp_path):
    with pytest.raises(CalibrationError, match=r"none\.json cannot be read: No such file"):
        load_target(tmp_path / "none.json")


def test_a_screen_that_is_too_small():
    with pytest.raises(CalibrationError, match="screen of 200 x 100 px is too small for discs"):
        Target.for_screen(200, 100, 40.0)


def test_the_pitch_fits_screen_and_distance():
    assert pitch_for_screen(1920, 1080, 27, 45) == 48
    assert pitch_for_screen(3840, 2160, 27, 45) == pytest.approx(2 * 48, abs=1)
    assert pitch_for_screen(1920, 1080, 27, 90) == pytest.approx(2 * 48, abs=1)


def test_an_impossible_screen():
    with pytest.raises(CalibrationError, match="must be positive, not 0 inches, 45 cm"):
        pitch_for_screen(1920, 1080, 0, 45)


@pytest.mark.parametrize("name", ["white.png", "target.json"])
def test_a_target_replaces_an_earlier_one_and_nothing_else(name, tmp_path):
    (tmp_path / name).write_bytes(b"mine")
    target = Target.for_screen(400, 300, 30.0)
    with pytest.raises(CalibrationError, match=f"already contains {name}, which would be"):
        write_target(target, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"mine"
    (tmp_path / name).unlink()
    write_target(Target.for_screen(500, 300, 30.0), tmp_path)
    write_target(target, tmp_path)
    assert load_target(tmp_path / "target.json").screen_px == (400, 300)


def test_written_target_holds_frames_of_native_size_and_a_page_with_them(tmp_path):
    target = Target.for_screen(400, 300, 30.0)
    assert write_target(target, tmp_path) == list(TARGET_FILES)
    for name, picture in frame_pictures(target).items():
        stored = cv2.imread(str(tmp_path / f"{name}.png"), cv2.IMREAD_UNCHANGED)
        np.testing.assert_array_equal(stored, picture)
    page = (tmp_path / "slides.html").read_text()
    embedded = re.findall(r"data:image/png;base64,([^\"]+)", page)
    assert [base64.b64decode(e) for e in embedded] == [
        (tmp_path / f"{name}.png").read_bytes() for name in ("discs", "white", "black")
    ]
    assert 'src="http' not in page
    assert "{" + "{" not in page


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("pitch_px", float("inf"), "pitch_px: Input should be"),
        ("pitch_px", 1e-300, "pitch_px: Input should be greater"),
        ("pitch_px", 1e300, "pitch_px: Input should be less"),
        ("pitch_px", float("nan"), "pitch_px: Input should be"),
        ("first_disc_px", [float("-inf"), 1.0], "first_disc_px.0: Input should be"),
        ("first_disc_px", [5e-324, 19_999.0], "its discs overlap, are too small or lie beyond"),
        ("radii_px", [1e-310, 10.0], "its discs overlap, are too small or lie beyond"),
        ("radii_px", [1e308, 1e308], "radii_px.0: Input should be less"),
        ("radii_px", [30.0, 40.0], "its discs overlap"),
        ("screen_px", [10**30, 100], "screen_px.0: Input should be less"),
        ("screen_px", [0, 0], "screen_px.0: Input should be greater"),
    ],
)
def test_impossible_numbers_are_refused(name, value, said, tmp_path):
    content = {**Target.for_screen(640, 480, 40.0).describe(), name: value}
    path = tmp_path / "target.json"
    path.write_text(json.dumps(content).replace("Infinity", "1e999"))
    with pytest.raises(
        CalibrationError, match=r"is not a calibration target \(.*; use the"
    ) as found:
        load_target(path)
    assert said in str(found.value)
