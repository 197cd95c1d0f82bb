from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from napari_dpdeblur.capture import looks_like_capture, open_capture, read_capture_header
from napari_dpdeblur.capture.canon import separate_views
from napari_dpdeblur.errors import CaptureError

BLACK = (510, 511, 512, 513)
WHITE = 16000
CR3_START = b"\0\0\0\x18ftypcrx \0\0\0\x01crx isom"
CR2_START = b"II*\x00\x10\x00\x00\x00CR\x02\x00"


@dataclass
class FakeRaw:
    """The part of a rawpy image that the reader uses: an RGGB mosaic with margins cut."""

    raw_image_visible: np.ndarray
    white_level: int = WHITE
    black_level_per_channel: tuple[int, ...] = BLACK
    color_desc: bytes = b"RGBG"
    raw_colors_visible: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        height, width = self.raw_image_visible.shape
        cell = np.array([[0, 1], [3, 2]], np.uint8)
        self.raw_colors_visible = np.tile(cell, (height, width))[:height, :width]


def _mosaic(red: float, green1: float, green2: float, blue: float, black=BLACK) -> np.ndarray:
    cell = np.array([[red + black[0], green1 + black[1]], [green2 + black[3], blue + black[2]]])
    return np.tile(cell, (3, 4)).astype(np.uint16)


def test_second_view_is_the_black_subtracted_difference():
    both = FakeRaw(_mosaic(1000, 2000, 2200, 600))
    first = FakeRaw(_mosaic(400, 900, 1000, 100))
    views, invalid, white = separate_views(both, first, Path("a.CR2"))
    assert views.shape == (2, 3, 3, 4)
    np.testing.assert_allclose(views[0, :, 1, 1], [400, 950, 100])
    np.testing.assert_allclose(views[1, :, 1, 1], [600, 1150, 500])
    assert not invalid.any()
    assert white == WHITE - max(BLACK)


def test_view_below_black_stays_negative_in_the_difference():
    both, first = FakeRaw(_mosaic(10, 10, 10, 10)), FakeRaw(_mosaic(30, 10, 10, 10))
    views, _, _ = separate_views(both, first, Path("a.CR2"))
    assert views[1, 0, 0, 0] == -20


def test_cells_where_the_sum_clips_are_invalid():
    both, first = FakeRaw(_mosaic(1000, 2000, 2200, 600)), FakeRaw(_mosaic(400, 900, 1000, 100))
    both.raw_image_visible[2, 5] = WHITE
    _, invalid, _ = separate_views(both, first, Path("a.CR2"))
    assert np.argwhere(invalid).tolist() == [[1, 2]]


def test_odd_mosaic_drops_the_incomplete_cells():
    both, first = (FakeRaw(_mosaic(v, v, v, v)[:-1, :-1]) for v in (200, 100))
    views, invalid, _ = separate_views(both, first, Path("a.CR2"))
    assert views.shape == (2, 3, 2, 3)
    assert invalid.shape == (2, 3)


def test_one_frame_twice_is_no_dual_pixel_raw():
    frame = FakeRaw(_mosaic(1, 2, 3, 4))
    with pytest.raises(CaptureError, match=r"a\.CR2 is not .*: it has only one frame"):
        separate_views(frame, frame, Path("a.CR2"))


def test_frames_of_different_sizes_are_refused():
    both, first = FakeRaw(_mosaic(1, 2, 3, 4)), FakeRaw(_mosaic(1, 2, 3, 4)[:4])
    with pytest.raises(CaptureError, match=r"a\.CR2 .* has no second frame of the same size"):
        separate_views(both, first, Path("a.CR2"))


def test_missing_rawpy_names_the_extra(tmp_path: Path, monkeypatch):
    (tmp_path / "a.CR2").write_bytes(CR2_START)
    monkeypatch.setitem(sys.modules, "rawpy", None)
    with pytest.raises(CaptureError, match=r"napari-dpdeblur\[canon\]"):
        open_capture(tmp_path / "a.CR2")


def test_damaged_raw_file(tmp_path: Path):
    pytest.importorskip("rawpy", reason="the extra canon is not installed")
    (tmp_path / "a.CR2").write_bytes(CR2_START + bytes(100))
    assert looks_like_capture(tmp_path / "a.CR2")
    with pytest.raises(CaptureError, match=r"a\.CR2 cannot be read as a dual-pixel raw file"):
        open_capture(tmp_path / "a.CR2")


@dataclass
class Sizes:
    raw_height: int
    raw_width: int
    height: int
    width: int


@dataclass
class Other:
    focal_length: float
    aperture: float


@pytest.fixture
def decoder(monkeypatch):
    """Let `rawpy.imread` return these frames instead of decoding a file; nobody has a real one."""

    def decode(*frames: FakeRaw, other: Other | None = None) -> None:
        def imread(path: str, shot_select: int) -> object:
            frame = frames[shot_select]
            frame.sizes = Sizes(*frame.raw_image_visible.shape * 2)
            if other is not None:
                frame.other = other
            return nullcontext(frame)

        monkeypatch.setitem(sys.modules, "rawpy", SimpleNamespace(imread=imread))

    return decode


@pytest.fixture(params=["a.CR2", "a.CR3"])
def raw_file(request, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    path.write_bytes(CR2_START if path.suffix == ".CR2" else CR3_START)
    return path


def test_a_raw_file_of_either_kind_becomes_a_capture(raw_file, decoder):
    both, first = FakeRaw(_mosaic(1000, 2000, 2200, 600)), FakeRaw(_mosaic(400, 900, 1000, 100))
    both.raw_image_visible[0, 0] = WHITE
    decoder(both, first, other=Other(focal_length=50.0, aperture=4.0))
    assert looks_like_capture(raw_file)
    assert looks_like_capture(raw_file.parent)
    capture = open_capture(raw_file)
    assert capture.source.format == f"canon-dual-pixel-{raw_file.suffix[1:].lower()}"
    assert (capture.shape, capture.encoding) == ((2, 3, 3, 4), "linear")
    np.testing.assert_allclose(capture.raw[1, :, 1, 1], [600, 1150, 500])
    assert np.argwhere(capture.invalid).tolist() == [[0, 0]]
    assert capture.describe()["invalid_fraction"] == pytest.approx(1 / 12)
    assert capture.describe()["optics"] == {"focal_length_mm": 50.0, "f_number": 4.0}


class Packed:
    """A raw image whose pixels must not be unpacked."""

    def __init__(self, height: int, width: int) -> None:
        self.sizes = Sizes(height + 2, width + 4, height, width)
        self.other = Other(focal_length=50.0, aperture=4.0)


def test_the_header_of_a_raw_file_is_read_without_unpacking(raw_file, monkeypatch):
    frames = [Packed(6, 8), Packed(6, 8)]
    fake = SimpleNamespace(imread=lambda path, shot_select: nullcontext(frames[shot_select]))
    monkeypatch.setitem(sys.modules, "rawpy", fake)
    header = read_capture_header(raw_file)
    assert header.format == f"canon-dual-pixel-{raw_file.suffix[1:].lower()}"
    assert (header.shape, header.dtype) == ((2, 3, 3, 4), "float32")
    assert (header.black, header.white) == (0, None)
    assert header.describe()["optics"] == {"focal_length_mm": 50.0, "f_number": 4.0}
    frames[1] = Packed(2, 2)
    with pytest.raises(CaptureError, match="it has no second frame of the same size"):
        read_capture_header(raw_file)


def test_a_decoder_that_knows_no_optics(raw_file, decoder):
    frames = FakeRaw(_mosaic(9, 9, 9, 9)), FakeRaw(_mosaic(4, 4, 4, 4))
    decoder(*frames)
    assert open_capture(raw_file).optics is None
    decoder(*frames, other=Other(focal_length=0.0, aperture=float("inf")))
    assert open_capture(raw_file).optics is None


def test_a_raw_file_without_a_second_frame(raw_file, decoder):
    frame = FakeRaw(_mosaic(1, 2, 3, 4))
    decoder(frame, frame)
    with pytest.raises(CaptureError, match=r"it has only one frame; enable Dual Pixel RAW"):
        open_capture(raw_file)


def test_another_file_named_like_a_raw_file(tmp_path: Path):
    for name in ("a.CR2", "b.CR3"):
        (tmp_path / name).write_bytes(b"\0\0\0\x18ftypheic....")
        assert not looks_like_capture(tmp_path / name)


def test_black_level_that_the_second_frame_does_not_have():
    both = FakeRaw(_mosaic(1000, 2000, 2200, 600))
    first = FakeRaw(_mosaic(400, 900, 1000, 100), black_level_per_channel=(0, 0, 0, 0))
    views, _, _ = separate_views(both, first, Path("a.CR3"))
    np.testing.assert_allclose(views[0, :, 1, 1], [400, 950, 100])


def test_the_sum_clips_at_the_level_that_the_camera_states():
    both, first = FakeRaw(_mosaic(1000, 2000, 2200, 600)), FakeRaw(_mosaic(400, 900, 1000, 100))
    both.camera_white_level_per_channel = (15000, 0, 15000, 15000)
    both.raw_image_visible[0, 0] = 15000  # red
    both.raw_image_visible[0, 3] = 15000  # green, of which the camera says nothing
    _, invalid, _ = separate_views(both, first, Path("a.CR3"))
    assert np.argwhere(invalid).tolist() == [[0, 0]]


@pytest.fixture
def dpdd(tmp_path: Path, noise, write_image) -> tuple[Path, Path]:
    """The layout of the dataset: both views in folders of their own."""
    left = noise((6, 10, 3), high=65535)
    return (
        write_image(tmp_path / "test_l" / "source" / "1P0A0917_L.png", left),
        write_image(tmp_path / "test_r" / "source" / "1P0A0917_R.png", left[:, ::-1]),
    )


def test_dpdd_pair_in_its_folders(dpdd, tmp_path: Path):
    for opened in (*dpdd, dpdd[0].parent, dpdd[0].parents[1], tmp_path):
        capture = open_capture(opened)
        assert capture.shape == (2, 3, 6, 10)
        assert (capture.encoding, capture.black, capture.white) == ("srgb", 0, 65535)
        np.testing.assert_array_equal(capture.raw[0], capture.raw[1, :, :, ::-1])


def test_dpdd_pair_in_one_folder(tmp_path: Path, noise, write_image):
    pixels = noise((6, 10, 3), high=65535)
    for side in "LR":
        write_image(tmp_path / f"1P0A0917_{side}.png", pixels)
    capture = open_capture(tmp_path)
    assert capture.name == "1P0A0917"
    expected = ((pixels[..., 0] / 65535 + 0.055) / 1.055) ** 2.4
    bright = pixels[..., 0] > 4000
    np.testing.assert_allclose(capture.views[0, 0][bright], expected[bright], rtol=1e-4)


def test_dpdd_partner_missing_names_the_other_folder(dpdd):
    dpdd[1].unlink()
    with pytest.raises(CaptureError, match=r"right view 1P0A0917_R\.png is missing in .*test_r"):
        open_capture(dpdd[0])


@pytest.mark.parametrize("shape", [(6, 10), (6, 10, 3)])
def test_numbered_jpeg_pair(tmp_path: Path, noise, write_image, shape):
    for side in "LR":
        write_image(tmp_path / f"001_{side}.jpg", noise(shape, np.uint8, 200))
    capture = open_capture(tmp_path / "001_R.jpg")
    assert capture.shape == (2, shape[2] if len(shape) == 3 else 1, 6, 10)
    assert (capture.encoding, capture.white) == ("srgb", 255)


def test_different_bit_depths(tmp_path: Path, noise, write_image):
    write_image(tmp_path / "a_L.png", noise((6, 10, 3)))
    write_image(tmp_path / "a_R.png", noise((6, 10, 3), np.uint8, 200))
    with pytest.raises(CaptureError, match=r"different bit depths \(16 and 8 bits per value\)"):
        open_capture(tmp_path / "a_L.png")
