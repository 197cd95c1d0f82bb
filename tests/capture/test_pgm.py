from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from napari_dpdeblur.capture.pgm import read_pgm, read_pgm_header, write_pgm, write_pgm_pair
from napari_dpdeblur.errors import CaptureError

PIXELS = hnp.arrays(
    st.sampled_from([np.uint8, np.uint16]), hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)
)
GAPS = st.lists(
    st.sampled_from([b" ", b"\n", b"\t", b"\r\n", b"# comment 3 4\n", b"#\r"]), min_size=1
).map(b"".join)
in_one_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


@in_one_folder
@given(pixels=PIXELS, aspect=st.sampled_from([1.0, 2.0, 0.5]))
def test_round_trip(tmp_path: Path, pixels: np.ndarray, aspect: float):
    write_pgm(tmp_path / "a.pgm", pixels, aspect)
    read, header = read_pgm(tmp_path / "a.pgm")
    np.testing.assert_array_equal(read, pixels)
    assert read.dtype == pixels.dtype
    assert read.dtype.isnative
    assert header.pixel_aspect == (None if aspect == 2.0 else aspect)


@in_one_folder
@given(pixels=PIXELS, gaps=st.tuples(GAPS, GAPS, GAPS), last=st.sampled_from([b" ", b"\n"]))
def test_any_whitespace_and_comments(tmp_path: Path, pixels, gaps, last):
    limit = np.iinfo(pixels.dtype).max
    words = [b"P5", b"%d" % pixels.shape[1], b"%d" % pixels.shape[0], b"%d" % limit]
    header = b"".join(word + gap for word, gap in zip(words, (*gaps, last), strict=True))
    (tmp_path / "a.pgm").write_bytes(
        header + pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()
    )
    np.testing.assert_array_equal(read_pgm(tmp_path / "a.pgm")[0], pixels)


@in_one_folder
@given(data=st.binary(max_size=64))
def test_any_bytes_give_pixels_or_a_capture_error(tmp_path: Path, data: bytes):
    (tmp_path / "a.pgm").write_bytes(b"P5 " + data)
    try:
        pixels, header = read_pgm(tmp_path / "a.pgm")
    except CaptureError:
        return
    assert pixels.shape == (header.height, header.width)


def test_header_is_the_one_of_the_app(tmp_path: Path):
    left, right = write_pgm_pair(
        tmp_path, "n", np.ones((3, 4), np.uint16), np.zeros((3, 4), np.uint16)
    )
    assert left.name == "n_left.pgm"
    assert left.read_bytes() == b"P5 4 3 65535 " + b"\x00\x01" * 12
    assert right.read_bytes() == b"P5 4 3 65535 " + b"\x00\x00" * 12


def test_first_pixel_that_looks_like_whitespace_is_kept(tmp_path: Path):
    (tmp_path / "a.pgm").write_bytes(b"P5 2 1 255\n #")
    np.testing.assert_array_equal(read_pgm(tmp_path / "a.pgm")[0], [[32, 35]])


def test_truncated_file(tmp_path: Path):
    (tmp_path / "a.pgm").write_bytes(b"P5 4 3 65535 " + bytes(23))
    with pytest.raises(CaptureError, match=r"a\.pgm is truncated: .* declares 24 .* only 23"):
        read_pgm(tmp_path / "a.pgm")


def test_trailing_bytes(tmp_path: Path):
    (tmp_path / "a.pgm").write_bytes(b"P5 4 3 255 " + bytes(13))
    with pytest.raises(CaptureError, match=r"a\.pgm has 1 bytes more than its header declares"):
        read_pgm(tmp_path / "a.pgm")


@pytest.mark.parametrize("size", [b"50000 20000", b"1000000000 1", b"9999999999 9999999999"])
def test_a_billion_pixels_are_refused_before_allocation(tmp_path: Path, size: bytes):
    (tmp_path / "a.pgm").write_bytes(b"P5 " + size + b" 65535 " + bytes(24))
    tracemalloc.start()
    try:
        with pytest.raises(CaptureError, match=r"a\.pgm declares .* 200 megapixels"):
            read_pgm(tmp_path / "a.pgm")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content", [b"", b"just some text\n", b"P2 2 1 255 0 1", b"P5", b"P5 2 x 255 ", b"P52 1 255 ab"]
)
def test_text_renamed_to_pgm(tmp_path: Path, content: bytes):
    (tmp_path / "a.pgm").write_bytes(content)
    with pytest.raises(CaptureError, match=r"a\.pgm is not a binary PGM image"):
        read_pgm_header(tmp_path / "a.pgm")


@pytest.mark.parametrize("header", [b"P5 0 3 255 ", b"P5 2 1 0 ", b"P5 2 1 65536 "])
def test_impossible_header(tmp_path: Path, header: bytes):
    (tmp_path / "a.pgm").write_bytes(header + bytes(9))
    with pytest.raises(CaptureError, match="has an invalid PGM header"):
        read_pgm_header(tmp_path / "a.pgm")


def test_unreadable_file(tmp_path: Path):
    with pytest.raises(CaptureError, match=r"cannot be read: Is a directory|cannot be read: Perm"):
        read_pgm(tmp_path)


def test_unwritable_file(tmp_path: Path):
    with pytest.raises(CaptureError, match="cannot be written"):
        write_pgm(tmp_path / "missing" / "a.pgm", np.ones((2, 2), np.uint16))


@pytest.mark.parametrize("pixels", [np.ones((2, 2)), np.ones((2, 2, 3), np.uint8)])
def test_only_planes_of_integers_are_written(tmp_path: Path, pixels: np.ndarray):
    with pytest.raises(CaptureError, match="one plane of uint8 or uint16"):
        write_pgm(tmp_path / "a.pgm", pixels)


def test_values_above_the_largest_are_not_written(tmp_path: Path):
    with pytest.raises(CaptureError, match=r"values up to 1024 do not fit a PGM .* 1023"):
        write_pgm(tmp_path / "a.pgm", np.full((2, 2), 1024, np.uint16), max_value=1023)
