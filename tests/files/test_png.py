"""What reaches libpng is flawless, so that it prints nothing."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.image_file import decode
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files.png import SIGNATURE, plain_png

HEADER = struct.pack(">IIBBBBB", 16, 12, 16, 0, 0, 0, 0)
ROWS = bytes(33 * 12)


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def png(rows: bytes = ROWS, header: bytes = HEADER, extra: bytes = b"") -> bytes:
    pixels = chunk(b"IDAT", zlib.compress(rows))
    return SIGNATURE + chunk(b"IHDR", header) + extra + pixels + chunk(b"IEND", b"")


def changed_byte(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 255]) + content[position + 1 :]


# What libpng says about each is known from experience.
COMPLAINTS: dict[str, bytes] = {
    "not enough image data": png(ROWS[:100]),
    "too much image data": png(ROWS + bytes(200)),
    "bad adaptive filter value": png(bytes([9]) + ROWS[1:]),
    "bad filter in the last row": png(ROWS[:-33] + bytes([5]) + bytes(32)),
    "wrong checksum": changed_byte(png(), 55),
    "truncated": png()[:-20],
    "no end": png()[:-12],
    "missing palette": png(header=struct.pack(">IIBBBBB", 16, 12, 8, 3, 0, 0, 0)),
    "unknown interlacing": png(header=HEADER[:-1] + bytes([7])),
    "invalid depth": png(header=struct.pack(">IIBBBBB", 16, 12, 3, 0, 0, 0, 0)),
    "too wide": png(header=struct.pack(">IIBBBBB", 2_000_000, 1, 8, 0, 0, 0, 0)),
}
WARNINGS: dict[str, bytes] = {
    "short profile": png(extra=chunk(b"iCCP", b"x\0\0" + zlib.compress(b"bad"))),
    "gamma twice": png(extra=2 * chunk(b"gAMA", bytes(4))),
    "broken text": png(extra=chunk(b"tEXt", bytes(80))),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_damaged_pictures_are_refused_in_silence(name: str, capfd: Any) -> None:
    assert plain_png(COMPLAINTS[name]) is None
    assert decode(np.frombuffer(COMPLAINTS[name], np.uint8), "PNG") is None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", WARNINGS)
def test_what_is_not_needed_is_left_out_in_silence(name: str, capfd: Any) -> None:
    pixels = decode(np.frombuffer(WARNINGS[name], np.uint8), "PNG")
    assert pixels is not None
    assert pixels.shape == (12, 16)
    assert capfd.readouterr().err == ""


def test_a_damaged_pair_is_refused_in_silence(tmp_path: Path, capfd: Any) -> None:
    for name in ("001_left.png", "001_right.png"):
        (tmp_path / name).write_bytes(COMPLAINTS["not enough image data"])
    with pytest.raises(CaptureError, match="is damaged or truncated; copy the file again"):
        open_capture(tmp_path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(1, 1), (33, 57), (33, 57, 3), (33, 57, 4), (700, 900)])
def test_pictures_keep_their_values(shape: tuple[int, ...], dtype: type) -> None:
    values = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, shape).astype(dtype)
    encoded = cv2.imencode(".png", values)[1]
    np.testing.assert_array_equal(decode(encoded, "PNG"), values)


def test_palettes_and_single_bits_are_read(capfd: Any) -> None:
    random = np.random.default_rng(1)
    colours = Image.fromarray(random.integers(0, 255, (33, 57, 3)).astype(np.uint8)).quantize(37)
    bits = Image.fromarray(random.integers(0, 2, (33, 57)).astype(bool))
    for picture, expected in ((colours, colours.convert("RGB")), (bits, bits.convert("L"))):
        file = io.BytesIO()
        picture.save(file, "PNG")
        found = decode(np.frombuffer(file.getvalue(), np.uint8), "PNG")
        assert found is not None
        found = found[..., ::-1] if found.ndim == 3 else found
        np.testing.assert_array_equal(found, np.asarray(expected))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (21, 13)])
def test_interlaced_pictures_are_read(size: tuple[int, int], capfd: Any) -> None:
    height, width = size
    values = np.random.default_rng(1).integers(0, 255, size).astype(np.uint8)
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
    rows = b""
    for left, top, step_x, step_y in [*passes, (0, 1, 1, 2)]:
        part = values[top::step_y, left::step_x]
        rows += b"".join(b"\0" + row.tobytes() for row in part if part.size)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 1)
    found = decode(np.frombuffer(png(rows, header), np.uint8), "PNG")
    np.testing.assert_array_equal(found, values)
    assert decode(np.frombuffer(png(rows + b"\0", header), np.uint8), "PNG") is None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("most_bytes", [0, 100, 1 << 26])
def test_large_pictures_stay_compressed(most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napari_dpdeblur.files.png._STORED_BYTES", most_bytes)
    pixels = np.arange(60 * 80, dtype=np.uint16).reshape(60, 80)
    data = cv2.imencode(".png", pixels)[1].tobytes()
    plain = plain_png(data)
    assert plain is not None
    assert (len(plain) > pixels.nbytes) == (most_bytes == 1 << 26)
    assert np.array_equal(cv2.imdecode(np.frombuffer(plain, np.uint8), -1), pixels)
