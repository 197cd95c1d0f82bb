from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.capture import (
    capture_name,
    find_captures,
    list_captures,
    looks_like_capture,
    open_capture,
)
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.errors import CaptureError


def test_either_file_both_files_or_the_folder_give_the_same_capture(
    app_pair, tmp_path, monkeypatch
):
    left, right = app_pair
    expected = open_capture(left)
    monkeypatch.chdir(tmp_path)
    for paths in [(right,), (left, right), (right, left), (tmp_path,), (str(left),), (left.name,)]:
        capture = open_capture(*paths)
        np.testing.assert_array_equal(capture.raw, expected.raw)
        assert capture.source == expected.source


def test_views_in_different_folders_can_be_named(app_pair, tmp_path: Path):
    moved = tmp_path / "elsewhere" / app_pair[1].name
    moved.parent.mkdir()
    app_pair[1].rename(moved)
    assert open_capture(moved, app_pair[0]).source.files == (str(app_pair[0]), str(moved))


def test_a_list_names_every_capture_once(app_pair, tmp_path: Path):
    other = write_pgm_pair(tmp_path, "other", *np.ones((2, 4, 4), np.uint16))
    assert list_captures([tmp_path]) == [app_pair, other]
    assert list_captures([tmp_path, *app_pair, tmp_path]) == [app_pair, other]
    assert list_captures([other[1], app_pair[0], other[0]]) == [(other[1],), (app_pair[0],)]
    assert list_captures([]) == []


def test_a_list_of_nothing_says_why(app_pair, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CaptureError, match="empty contains no dual-pixel capture"):
        list_captures([app_pair[0], tmp_path / "empty"])
    with pytest.raises(CaptureError, match=r"nowhere_left\.pgm does not exist"):
        list_captures([tmp_path / "nowhere_left.pgm"])


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (("001_left.png", "001_right.png"), "001"),
        (("IMG_7_L.png", "IMG_7_R.png"), "IMG_7"),
        (("IMG_0001.CR2",), "IMG_0001"),
        (("left_pd/dawn/result_leftPd_center.png",), "dawn"),
        (("anything.txt",), "anything"),
    ],
)
def test_a_capture_is_named_after_its_scene(files: tuple[str, ...], name: str):
    assert capture_name([Path(file) for file in files]) == name


def test_nothing_given():
    with pytest.raises(CaptureError, match="No capture was given"):
        open_capture()


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("pair", ["app_pair", "published_pair"])
def test_missing_partner(request, pair: str, index: int):
    files = request.getfixturevalue(pair)
    files[1 - index].unlink()
    side = ("left", "right")[1 - index]
    pattern = rf"{files[index].name} has no partner: the {side} view {files[1 - index].name}"
    for opened in (files[index], files[index].parent):
        with pytest.raises(CaptureError, match=pattern):
            open_capture(opened)


def test_files_of_two_captures(app_pair, tmp_path: Path):
    other = write_pgm_pair(tmp_path, "other", *np.ones((2, 4, 4), np.uint16))
    with pytest.raises(CaptureError, match="are not the two views of one capture"):
        open_capture(app_pair[0], other[1])


def test_same_view_of_two_folders(app_pair, tmp_path: Path):
    (tmp_path / "b").mkdir()
    copy = tmp_path / "b" / app_pair[0].name
    copy.write_bytes(app_pair[0].read_bytes())
    with pytest.raises(CaptureError, match="are not the two views of one capture"):
        open_capture(app_pair[0], copy)


def test_folder_with_several_captures(app_pair, tmp_path: Path):
    write_pgm_pair(tmp_path, "other", *np.ones((2, 4, 4), np.uint16))
    with pytest.raises(CaptureError, match=r"contains 2 captures \(.*778 to other\); specify"):
        open_capture(tmp_path)


def test_empty_folder(tmp_path: Path):
    with pytest.raises(CaptureError, match="contains no dual-pixel capture"):
        open_capture(tmp_path)


def test_missing_file(tmp_path: Path):
    with pytest.raises(CaptureError, match=r"001_left\.png does not exist"):
        open_capture(tmp_path / "001_left.png")


def test_broken_link_as_partner(app_pair, tmp_path: Path):
    app_pair[1].unlink()
    app_pair[1].symlink_to(tmp_path / "gone.pgm")
    with pytest.raises(CaptureError, match="has no partner"):
        open_capture(app_pair[0])


@pytest.mark.parametrize("pair", ["app_pair", "published_pair"])
def test_folder_in_place_of_a_file(request, pair: str):
    left, right = request.getfixturevalue(pair)
    right.unlink()
    right.mkdir()
    with pytest.raises(CaptureError, match=rf"{right.name} cannot be read: "):
        open_capture(left)


def test_unreadable_file(app_pair, monkeypatch):
    """The tests may run as root, who can read everything: let the system refuse."""

    def refuse(path: object, *args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CaptureError, match=r"_left\.pgm cannot be read: Permission denied"):
        open_capture(app_pair[0])
    assert not looks_like_capture(app_pair[0])


def test_name_that_the_system_refuses(tmp_path: Path):
    with pytest.raises(CaptureError, match=r"cannot be read: File name too long|does not exist"):
        open_capture(tmp_path / ("x" * 5000 + "_left.pgm"))


def test_text_renamed_to_pgm(app_pair):
    app_pair[1].write_text("not a picture")
    with pytest.raises(CaptureError, match=r"_right\.pgm is not a binary PGM image"):
        open_capture(app_pair[0])


def test_name_of_no_capture(tmp_path: Path, noise, write_image):
    path = write_image(tmp_path / "holiday.png", noise((4, 4)))
    with pytest.raises(
        CaptureError, match=r"holiday\.png is not named like a view of a dual-pixel"
    ):
        open_capture(path)


def test_find_captures_lists_complete_pairs_only(app_pair, published_pair, tmp_path: Path):
    write_pgm_pair(tmp_path, "lonely", *np.ones((2, 4, 4), np.uint16))[1].unlink()
    assert find_captures(tmp_path) == [published_pair, app_pair]
    assert find_captures(str(tmp_path)) == find_captures(tmp_path)


def test_find_captures_does_not_descend_into_ordinary_folders(app_pair, tmp_path: Path):
    assert find_captures(tmp_path.parent) == []


def test_find_captures_in_a_file(app_pair):
    with pytest.raises(CaptureError, match=r"_left\.pgm is not a folder"):
        find_captures(app_pair[0])


def test_real_folder(pixel4_data: Path):
    pairs = find_captures(pixel4_data / "pixel4")
    assert len(pairs) == len(list((pixel4_data / "pixel4").glob("*_left.png")))
    with pytest.raises(CaptureError, match=rf"contains {len(pairs)} captures"):
        open_capture(pixel4_data / "pixel4")
    assert not looks_like_capture(pixel4_data / "pixel4")
    assert all(looks_like_capture(path) for pair in pairs for path in pair)


def test_captures_are_recognised(app_pair, tmp_path: Path):
    assert looks_like_capture(app_pair[0])
    assert looks_like_capture(str(app_pair[1]))
    assert looks_like_capture(tmp_path)


def test_damaged_capture_is_recognised_so_that_its_error_is_shown(app_pair, published_pair):
    app_pair[0].write_bytes(app_pair[0].read_bytes()[:-3])
    app_pair[1].unlink()
    published_pair[1].unlink()
    assert looks_like_capture(app_pair[0])
    assert looks_like_capture(published_pair[0])


def test_other_peoples_pictures_are_left_alone(tmp_path: Path, noise, write_image):
    pictures = {
        "photo.png": noise((4, 4)),
        "stereo_left.png": noise((4, 4, 3), np.uint8, 200),
        "stereo_right.png": noise((4, 4, 3), np.uint8, 200),
        "002_left.png": noise((4, 4, 3), np.uint8, 200),
        "turn_left.png": noise((4, 4)),
        "logo_L.png": noise((4, 4, 3), np.uint8, 200),
        "logo_R.png": noise((4, 4, 3), np.uint8, 200),
        "001_L.jpg": noise((4, 4, 3), np.uint8, 200),
        "speaker_L.jpg": noise((4, 4, 3), np.uint8, 200),
        "speaker_R.jpg": noise((4, 4, 3), np.uint8, 200),
    }
    for name, pixels in pictures.items():
        write_image(tmp_path / name, pixels)
    (tmp_path / "notes_left.pgm").write_text("P5 is a format")
    (tmp_path / "raw.CR2").write_text("no raw file")
    (tmp_path / "small_left.pgm").write_bytes(b"P5 2 1 255 ab")
    (tmp_path / "small_right.pgm").write_bytes(b"P5 2 1 255 ab")
    (tmp_path / "lonely_left.pgm").write_bytes(b"P5 1 1 65535 ab")
    assert [path.name for path in tmp_path.iterdir() if looks_like_capture(path)] == []
    assert not looks_like_capture(tmp_path)
    assert not looks_like_capture(tmp_path / "missing_left.pgm")
    assert not looks_like_capture("\0")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"P2 2 1 65535 1 2\n", r"a_left\.pgm is not a binary PGM image \(it does not start with"),
        (
            b"P5 2 1 255 ab",
            r"a_left\.pgm has 8 bits per value, but the capture app writes 16",
        ),
        (b"", r"a_left\.pgm is not a binary PGM image"),
        (b"P5 0 1 65535 ", r"a_left\.pgm has an invalid PGM header"),
    ],
)
def test_a_folder_says_what_is_wrong_with_its_files(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    for side in ("left", "right"):
        (tmp_path / f"a_{side}.pgm").write_bytes(content)
    with pytest.raises(CaptureError, match=sentence):
        open_capture(tmp_path)
    with pytest.raises(CaptureError, match=sentence):
        list_captures([tmp_path])
    assert find_captures(tmp_path) == []


def test_a_folder_with_a_good_and_a_bad_capture_is_opened(tmp_path: Path) -> None:
    pixels = np.full((4, 6), 9000, np.uint16)
    write_pgm_pair(tmp_path, "good", pixels, pixels)
    (tmp_path / "a_left.pgm").write_bytes(b"")
    assert open_capture(tmp_path).name == "good"
