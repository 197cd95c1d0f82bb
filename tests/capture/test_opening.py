from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pairing import looks_like_pair
from napari_dpdeblur.capture.pgm import write_pgm
from napari_dpdeblur.errors import CaptureError


@pytest.fixture
def two_files(tmp_path, views, write_image):
    """Two views with names that say nothing."""
    names = ("morning", "evening")
    return [write_image(tmp_path / f"{n}.png", v) for n, v in zip(names, views(), strict=True)]


def test_two_files_are_a_pair_whatever_they_are_called(two_files):
    capture = open_capture(*two_files)
    assert capture.source.files == tuple(map(str, two_files))
    assert capture.source.format == "picture-pair"
    assert capture.name == "morning"
    assert capture.notes == (
        "The names do not say which view is the left one: morning.png is taken as the left.",
    )
    swapped = open_capture(two_files[::-1])
    np.testing.assert_array_equal(swapped.raw, capture.raw[::-1])
    assert looks_like_pair(*two_files)


def test_names_decide_which_view_is_left(tmp_path, views, write_image):
    left = write_image(tmp_path / "one" / "left.png", views()[0])
    right = write_image(tmp_path / "two" / "x_right.png", views()[1])
    capture = open_capture(right, left)
    assert capture.source.files == (str(left), str(right))
    assert capture.notes == ()


def test_the_same_view_of_two_scenes(tmp_path, views, write_image):
    paths = [tmp_path / scene / "l.png" for scene in "xy"]
    write_image(paths[0], views()[0])
    write_image(paths[1], views()[1][::-1])
    (note,) = open_capture(*paths).notes
    assert note == "Both files are named like the left view: l.png is taken as the left."
    assert not looks_like_pair(*paths)


def test_two_pgm_files_with_other_names(tmp_path, noise):
    paths = [tmp_path / f"{name}.pgm" for name in ("first", "second")]
    for number, path in enumerate(paths):
        write_pgm(path, noise((6, 10 + 0 * number), high=65535) // (1 + number))
    capture = open_capture(*paths)
    assert (capture.source.format, capture.black) == ("pixel-app-pgm", 4096)
    assert "first.pgm is taken as the left" in capture.notes[0]


def test_names_of_8_bit_pgm_files_count(tmp_path, noise):
    left, right = noise((6, 10), np.uint8, 200), noise((6, 10), np.uint8, 200)[::-1]
    paths = write_pgm_pair_8_bit(tmp_path, left, right)
    capture = open_capture(*paths[::-1])
    np.testing.assert_array_equal(capture.raw[:, 0], [left, right])
    assert capture.notes == ()


def write_pgm_pair_8_bit(folder, left, right):
    paths = [folder / "x_left.pgm", folder / "x_right.pgm"]
    for path, view in zip(paths, (left, right), strict=True):
        write_pgm(path, view)
    return paths


def test_a_format_can_be_given(tmp_path, noise, write_image):
    paths = [tmp_path / f"{name}.png" for name in ("first", "second")]
    for number, path in enumerate(paths):
        write_image(path, noise((6, 10)) - number)
    assert open_capture(*paths).encoding == "srgb"
    capture = open_capture(*paths, format="pixel-published-png")
    assert (capture.encoding, capture.black, capture.white) == ("linear", 1024, 16383)
    with pytest.raises(CaptureError, match=r"no capture format 'tiff'; choose one of .*picture-p"):
        open_capture(*paths, format="tiff")
    with pytest.raises(CaptureError, match=r"first\.png is not named like a view in the format"):
        open_capture(paths[0], format="pixel-published-png")


def test_a_published_pair_as_pictures(published_pair):
    capture = open_capture(published_pair[0].parent, format="picture-pair")
    assert (capture.encoding, capture.white) == ("srgb", 65535)
    assert open_capture(published_pair[1], format="picture-pair").source == capture.source


def test_an_encoding_can_be_given_for_every_format(published_pair):
    assert open_capture(published_pair[0], encoding="srgb").encoding == "srgb"
    with pytest.raises(CaptureError, match="The encoding must be srgb or linear, not 'gamma'"):
        open_capture(published_pair[0], encoding="gamma")


def test_portrait_views_are_transposed(two_files):
    landscape = open_capture(*two_files)
    capture = open_capture(*two_files, orientation="transposed")
    assert (capture.orientation, capture.shape) == ("transposed", (2, 3, 90, 60))
    np.testing.assert_array_equal(capture.raw, landscape.raw.swapaxes(-1, -2))
    assert capture.stored_width_px == landscape.stored_width_px == 90
    assert capture.with_orientation("landscape").shape == landscape.shape
    with pytest.raises(CaptureError, match="must be landscape or transposed, not 'portrait'"):
        open_capture(*two_files, orientation="portrait")


def test_real_google_views_in_portrait(pixel4_data):
    folder = pixel4_data / "google2019" / "test"
    expected = open_capture(folder)
    views = [next(folder.glob(f"{side}_pd/*/*.png")) for side in ("left", "right")]
    assert expected.orientation == "transposed"
    capture = open_capture(
        *views, format="picture-pair", orientation="transposed", encoding="linear"
    )
    np.testing.assert_array_equal(capture.raw, expected.raw)


def test_one_view_only(tmp_path, views, write_image):
    path = write_image(tmp_path / "l.png", views()[0])
    with pytest.raises(CaptureError, match=r"l\.png has no partner: the right view r\.png is miss"):
        open_capture(path)
    with pytest.raises(CaptureError, match="contains no dual-pixel capture"):
        open_capture(tmp_path)


def test_different_sizes(two_files, views, write_image):
    write_image(two_files[1], views(60, 80)[1])
    message = r"morning\.png and evening\.png have different sizes \(90 x 60 px.* and 80 x 60 px"
    with pytest.raises(CaptureError, match=message):
        open_capture(*two_files)
    assert not looks_like_pair(*two_files)


def test_different_bit_depths(two_files, views, write_image):
    write_image(two_files[1], views(dtype=np.uint16)[1])
    with pytest.raises(CaptureError, match=r"different bit depths \(8 and 16 bits per value\)"):
        open_capture(*two_files)


def test_different_channels(two_files, views, write_image):
    write_image(two_files[1], views()[1][..., 0])
    with pytest.raises(CaptureError, match=r"different numbers of channels \(3 and 1\)"):
        open_capture(*two_files)


def test_the_same_file_twice(two_files, tmp_path):
    with pytest.raises(CaptureError, match=r"morning\.png was given twice; specify the left and"):
        open_capture(two_files[0], two_files[0])
    link = tmp_path / "link.png"
    link.symlink_to(two_files[0])
    with pytest.raises(CaptureError, match="was given twice"):
        open_capture(two_files[0], link)


def test_identical_views(two_files):
    two_files[1].write_bytes(two_files[0].read_bytes())
    with pytest.raises(CaptureError, match=r"evening\.png are identical, so nothing can be comp"):
        open_capture(*two_files)
    assert not looks_like_pair(*two_files)


def test_three_files(two_files):
    with pytest.raises(CaptureError, match="3 files were given, but a capture has two views"):
        open_capture(*two_files, two_files[0])


def test_not_a_picture(two_files):
    two_files[1].write_text("a text")
    with pytest.raises(CaptureError, match=r"evening\.png is not a PNG, JPEG or TIFF picture"):
        open_capture(*two_files)
    assert not looks_like_pair(*two_files)


def test_a_file_that_does_not_exist(two_files):
    two_files[1].unlink()
    with pytest.raises(CaptureError, match=r"evening\.png does not exist"):
        open_capture(*two_files)
    assert not looks_like_pair(*two_files)
