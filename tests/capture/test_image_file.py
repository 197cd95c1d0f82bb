from __future__ import annotations

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.capture.image_file import read_image_header, read_pixels
from napari_dpdeblur.capture.picture import decode_picture
from napari_dpdeblur.errors import CaptureError


def _png_header(width: int, height: int, bits: int = 16, colour_type: int = 0) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, bits, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def _encoded(pixels: np.ndarray, suffix: str) -> bytes:
    return bytes(cv2.imencode(suffix, pixels)[1].tobytes())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey_png_comes_back_as_stored(tmp_path: Path, dtype):
    pixels = np.arange(12, dtype=dtype).reshape(3, 4) * (np.iinfo(dtype).max // 12)
    (tmp_path / "a.png").write_bytes(_encoded(pixels, ".png"))
    np.testing.assert_array_equal(read_pixels(tmp_path / "a.png"), pixels[None])
    assert str(read_image_header(tmp_path / "a.png")) == f"{8 * pixels.itemsize}-bit greyscale PNG"


def test_rgb_png_comes_back_in_rgb_order(tmp_path: Path):
    red_first = np.zeros((3, 2, 2), np.uint16)
    red_first[0] = 60000
    stored = np.ascontiguousarray(red_first.transpose(1, 2, 0)[..., ::-1])
    (tmp_path / "a.png").write_bytes(_encoded(stored, ".png"))
    np.testing.assert_array_equal(read_pixels(tmp_path / "a.png"), red_first)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_header(tmp_path: Path, channels: int):
    (tmp_path / "a.jpg").write_bytes(_encoded(np.zeros((7, 9, channels), np.uint8), ".jpg"))
    header = read_image_header(tmp_path / "a.jpg")
    assert (header.width, header.height, header.bits, header.channels) == (9, 7, 8, channels)
    assert read_pixels(tmp_path / "a.jpg").shape == (channels, 7, 9)


def test_huge_png_is_refused_before_decoding(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(_png_header(50_000, 20_000))
    with pytest.raises(CaptureError, match=r"a\.png declares 50000 x 20000 px; .* 200 megapixels"):
        read_pixels(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (_png_header(4, 4, 8, 6), "8-bit RGB with alpha PNG"),
        (_png_header(4, 4, 8, 3), "8-bit palette PNG"),
        (_png_header(4, 4, 1, 0), "1-bit greyscale PNG"),
    ],
)
def test_other_kinds_of_png_are_refused(tmp_path: Path, header: bytes, kind: str):
    (tmp_path / "a.png").write_bytes(header)
    with pytest.raises(CaptureError, match=rf"a\.png is not an 8- or 16-bit .* \({kind}\)"):
        read_pixels(tmp_path / "a.png")


@pytest.mark.parametrize("kept", [40, 200, -10])
def test_truncated_png(tmp_path: Path, kept: int):
    noise = np.random.default_rng(0).integers(0, 65535, (20, 20), dtype=np.uint16)
    (tmp_path / "a.png").write_bytes(_encoded(noise, ".png")[:kept])
    with pytest.raises(CaptureError, match=r"a\.png is damaged or truncated"):
        read_pixels(tmp_path / "a.png")


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
def test_something_else_renamed(tmp_path: Path, content: bytes):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(CaptureError, match=r"a\.png is not a PNG or JPEG image"):
        read_pixels(tmp_path / "a.png")


def test_unreadable_file(tmp_path: Path):
    with pytest.raises(CaptureError, match="cannot be read"):
        read_pixels(tmp_path / "missing.png")


def test_a_damaged_jpeg_is_refused_in_silence(tmp_path, capfd):
    """libjpeg would print its complaints on standard error."""
    random = np.random.default_rng(0)
    noise = cv2.GaussianBlur(random.uniform(0, 255, (64, 80)).astype(np.float32), (0, 0), 1)
    data = cv2.imencode(".jpg", noise.astype(np.uint8))[1].tobytes()
    path = tmp_path / "view.jpg"
    for trial in range(60):
        damaged = bytearray(data)
        if trial % 2:
            del damaged[random.integers(400, len(data) - 2) :]
        else:
            for place in random.integers(200, len(data), 5):
                damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        found = decode_picture(path)
        assert found is None or trial % 2 == 0, "a truncated file is not filled with grey"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("shape", [(64, 80), (64, 80, 3)])
def test_a_jpeg_is_decoded_as_by_opencv(shape, tmp_path):
    pixels = np.random.default_rng(1).uniform(0, 255, shape).astype(np.uint8)
    data = cv2.imencode(".jpg", pixels)[1]
    path = tmp_path / "view.jpg"
    path.write_bytes(data.tobytes())
    expected = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
    assert np.abs(decode_picture(path).astype(int) - expected).max() <= 2
