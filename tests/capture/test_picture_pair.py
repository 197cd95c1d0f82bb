from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from napari_dpdeblur.capture import find_captures, looks_like_capture, open_capture, picture_pair
from napari_dpdeblur.capture.levels import srgb_to_linear
from napari_dpdeblur.capture.pairing import sole_capture
from napari_dpdeblur.capture.picture_pair import locate_by_name, suggested_levels
from napari_dpdeblur.errors import CaptureError


@pytest.mark.parametrize(
    ("file", "name", "side", "partner"),
    [
        ("scene/l.png", "scene", 0, "r.png"),
        ("scene/R.tif", "scene", 1, "L.tif"),
        ("box/001/l.png", "box_001", 0, "r.png"),
        ("scene/Left.jpg", "scene", 0, "Right.jpg"),
        ("scene/RIGHT.TIFF", "scene", 1, "LEFT.TIFF"),
        ("dawn_left.jpeg", "dawn", 0, "dawn_right.jpeg"),
        ("dawn-R.png", "dawn", 1, "dawn-L.png"),
        ("dawnL.png", "dawn", 0, "dawnR.png"),
        ("dawnleft.png", "dawn", 0, "dawnright.png"),
        ("IMG_0001l.png", "IMG_0001", 0, "IMG_0001r.png"),
        ("dawn_a.tif", "dawn", 0, "dawn_b.tif"),
        ("scene/B.png", "scene", 1, "A.png"),
    ],
)
def test_names_of_views(file, name, side, partner):
    part = locate_by_name(Path("/photos") / file)
    assert part is not None
    assert (part.name, part.side) == (name, side)
    assert part.partner == (Path("/photos") / file).with_name(partner)


@pytest.mark.parametrize("file", ["final.png", "gamma.tif", "depth_mm.png", "_l.png", "l.txt", "d"])
def test_names_of_other_files(file):
    assert locate_by_name(Path("/photos") / file) is None


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
@pytest.mark.parametrize("words", [("l", "r"), ("x_left", "x_right"), ("A", "B"), ("001L", "001R")])
def test_either_file_both_or_the_folder(tmp_path, views, write_image, words, suffix):
    for word, view in zip(words, views(), strict=True):
        write_image(tmp_path / f"{word}{suffix}", view)
    write_image(tmp_path / "depth_mm.png", np.ones((60, 90), np.uint16))
    left, right = (tmp_path / f"{word}{suffix}" for word in words)
    expected = open_capture(left)
    assert expected.shape == (2, 3, 60, 90)
    assert (expected.encoding, expected.black, expected.white) == ("srgb", 0, 255)
    assert expected.notes == ()
    for given in ([right], [left, right], [right, left], [tmp_path], [[left, right]]):
        capture = open_capture(*given)
        np.testing.assert_array_equal(capture.raw, expected.raw)
        assert capture.source.files == (str(left), str(right))
    assert find_captures(tmp_path) == [(left, right)]
    assert sole_capture(tmp_path) == (left, right)
    assert all(looks_like_capture(path) for path in (left, right, tmp_path))


def test_canon_scene_with_a_depth_beside_it(canon_data):
    for given in ("l.png", "r.png", ""):
        capture = open_capture(canon_data / "box_001" / given)
        assert (capture.name, capture.shape) == ("box_001", (2, 3, 512, 768))
    for scene in canon_data.iterdir():
        if scene.is_dir():
            assert looks_like_capture(scene)


def test_values_are_linearised_unless_they_are_linear(tmp_path, views, write_image):
    pair = views()
    for word, view in zip("lr", pair, strict=True):
        write_image(tmp_path / f"{word}.png", view)
    encoded = pair[0].transpose(2, 0, 1).astype(np.float32) / 255
    np.testing.assert_allclose(open_capture(tmp_path).views[0], srgb_to_linear(encoded), rtol=1e-5)
    linear = open_capture(tmp_path, encoding="linear", black=5, white=250)
    np.testing.assert_allclose(
        linear.views[0], np.maximum(pair[0].transpose(2, 0, 1) - 5.0, 0) / 250, rtol=1e-5
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_alpha_is_dropped(tmp_path, views, dtype, suffix):
    pair = views(dtype=dtype)
    for word, view in zip("lr", pair, strict=True):
        alpha = np.full((60, 90, 1), np.iinfo(dtype).max // 2, dtype)
        stored = np.concatenate([view[..., ::-1], alpha], axis=2)
        cv2.imencode(suffix, stored)[1].tofile(tmp_path / f"{word}{suffix}")
    capture = open_capture(tmp_path)
    np.testing.assert_array_equal(capture.raw[0], pair[0].transpose(2, 0, 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [1, 3])
def test_tiff_of_another_program(tmp_path, views, dtype, channels):
    pair = [view[..., :channels].squeeze() for view in views(dtype=np.uint16)]
    if dtype == np.uint8:
        pair = [view // 256 for view in pair]
    pair = [(view / 65535 if dtype == np.float32 else view).astype(dtype) for view in pair]
    for word, view in zip("lr", pair, strict=True):
        kind = "rgb" if channels == 3 else "minisblack"
        tifffile.imwrite(tmp_path / f"{word}.tif", view, photometric=kind, compression=None)
    capture = open_capture(tmp_path)
    planes = np.atleast_3d(pair[1]).transpose(2, 0, 1)
    np.testing.assert_array_equal(capture.raw[1], planes)
    is_float = dtype == np.float32
    assert capture.encoding == ("linear" if is_float else "srgb")
    assert capture.white == (1 if is_float else np.iinfo(dtype).max)


def test_tiff_with_something_else_in_it(tmp_path, views):
    for word in "lr":
        tifffile.imwrite(tmp_path / f"{word}.tif", np.ones((4, 4), np.float64))
    with pytest.raises(CaptureError, match=r"l\.tif is not an 8- or 16-bit greyscale or RGB image"):
        open_capture(tmp_path / "l.tif")
    (tmp_path / "l.tif").write_bytes((tmp_path / "l.tif").read_bytes()[:12])
    with pytest.raises(CaptureError, match=r"l\.tif is damaged or truncated"):
        open_capture(tmp_path / "l.tif", tmp_path / "r.tif")


def test_unclear_16_bit_values_are_srgb_with_a_note(tmp_path, views, write_image):
    for word, view in zip("lr", views(dtype=np.uint16), strict=True):
        write_image(tmp_path / f"{word}.png", view)
    capture = open_capture(tmp_path)
    assert (capture.encoding, capture.white) == ("srgb", 65535)
    assert "they are taken as sRGB; set the encoding" in capture.describe()["warnings"][0]
    assert open_capture(tmp_path, encoding="srgb").notes == ()


def test_12_bit_values_are_said_to_look_linear(tmp_path, views, write_image):
    for word, view in zip("lr", views(dtype=np.uint16), strict=True):
        write_image(tmp_path / f"{word}.png", view // 16)
    (note,) = open_capture(tmp_path).notes
    assert "reach only 4095; if they are linear, set the encoding to linear" in note
    assert note.endswith("the white level to 4095.")
    capture = open_capture(tmp_path, encoding="linear", white=4095)
    assert capture.views.max() == pytest.approx(1)
    assert capture.notes == ()


def test_suggested_levels_of_8_bit_values():
    assert suggested_levels(np.full((2, 1, 4, 4), 9, np.uint8)).encoding == "srgb"


def test_photos_numbered_by_letters_are_left_alone(tmp_path, noise, write_image):
    for letter in "abcd":
        photo = cv2.GaussianBlur(noise((60, 90, 3), np.uint8, 250), (0, 0), 2)
        photo = np.roll(photo, 20 * ord(letter), axis=(0, 1))
        write_image(tmp_path / f"{letter}.png", photo)
        write_image(tmp_path / f"holiday_{letter}.png", photo[::-1])
    assert [path.name for path in tmp_path.iterdir() if looks_like_capture(path)] == []
    assert not looks_like_capture(tmp_path)
    assert find_captures(tmp_path) == []
    with pytest.raises(CaptureError, match=r"a\.png and b\.png do not look like the two views of"):
        open_capture(tmp_path / "a.png")
    assert open_capture(tmp_path / "b.png", tmp_path / "a.png").name == tmp_path.name


def test_a_folder_of_many_pairs_is_not_one_capture(tmp_path, views, write_image):
    for number in range(9):
        for word, view in zip("lr", views(), strict=True):
            write_image(tmp_path / f"{number}_{word}.png", view)
    assert sole_capture(tmp_path) is None
    assert len(find_captures(tmp_path)) == 9


@pytest.mark.parametrize("is_pair", [True, False])
def test_large_photos_are_compared_at_a_reduced_size(tmp_path, views, write_image, is_pair):
    left, right = views(600, 800)
    write_image(tmp_path / "l.jpg", left)
    write_image(tmp_path / "r.jpg", right if is_pair else right[::-1])
    assert looks_like_capture(tmp_path / "l.jpg") == is_pair


def test_large_pictures_with_clear_names_are_not_decoded(tmp_path, views, write_image, monkeypatch):
    monkeypatch.setattr(picture_pair, "MAX_COMPARED_PX", 100)
    left, right = views()
    for names in (("l", "r"), ("a", "b")):
        write_image(tmp_path / f"{names[0]}.png", left)
        write_image(tmp_path / f"{names[1]}.png", right[::-1])
    assert looks_like_capture(tmp_path / "l.png")
    assert not looks_like_capture(tmp_path / "a.png")
    write_image(tmp_path / "r.png", left)
    assert not looks_like_capture(tmp_path / "l.png")
    write_image(tmp_path / "r.png", left[:-1])
    assert not looks_like_capture(tmp_path / "l.png")


def test_identical_views_are_not_claimed(tmp_path, views, write_image):
    for word in "lr":
        write_image(tmp_path / f"{word}.png", views()[0])
    assert not looks_like_capture(tmp_path / "l.png")
    assert not looks_like_capture(tmp_path)
