"""Headers of captures: the same as after decoding, for every format, and nothing is decoded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.capture import open_capture, read_capture_header
from napari_dpdeblur.capture.header import CaptureHeader
from napari_dpdeblur.capture.pairing import FORMATS
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.errors import CaptureError

PICTURES = {
    "pixel-published-png": ("001_left.png", "001_right.png", (6, 8), np.uint16),
    "canon-dpdd-png": ("x_L.png", "x_R.png", (6, 8, 3), np.uint16),
    "canon-numbered-jpeg": ("001_L.jpg", "001_R.jpg", (16, 24, 3), np.uint8),
    "picture-pair": ("left.png", "right.png", (6, 8, 3), np.uint8),
}


def pair(folder: Path, write_image, noise, kind: str) -> Path:
    *names, shape, dtype = PICTURES[kind]
    high = 255 if dtype == np.uint8 else 16383
    pixels = noise(shape, dtype, high)
    for name, view in zip(names, (pixels, pixels[::-1]), strict=True):
        write_image(folder / name, view)
    return folder / names[0]


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize(
    "given", [{}, {"black": 3, "white": 200, "encoding": "linear", "orientation": "transposed"}]
)
def test_pictures(tmp_path, write_image, noise, kind, given):
    path = pair(tmp_path, write_image, noise, kind)
    header = read_capture_header(path, **given)
    assert header.format == kind
    assert header == open_capture(path, **given).header


def test_app_pair(app_pair):
    header = read_capture_header(app_pair[1])
    assert header == open_capture(app_pair[0]).header
    assert (header.pixel_aspect, header.black, header.white) == (2, 4096, 65535)


def test_pgm_of_fewer_bits(tmp_path):
    pixels = np.arange(48, dtype=np.uint16).reshape(6, 8) * 20
    write_pgm_pair(tmp_path, "20210705_161427_778", pixels, pixels[::-1], pixel_aspect=1)
    assert read_capture_header(tmp_path) == open_capture(tmp_path).header


def test_tiff_of_floats(tmp_path):
    views = np.random.default_rng(0).random((2, 6, 8, 3)).astype(np.float32)
    for name, view in zip("lr", views, strict=True):
        tifffile.imwrite(tmp_path / f"{name}.tif", view, photometric="rgb")
    header = read_capture_header(tmp_path)
    assert (header.dtype, header.encoding, header.white) == ("float32", "linear", 1)
    assert header == open_capture(tmp_path).header


def test_16_bits_of_unknown_origin(tmp_path, write_image, noise):
    """Only the pixels say that the values do not fill their bits."""
    path = pair(tmp_path, write_image, lambda *_: noise((6, 8, 3)), "picture-pair")
    header = read_capture_header(path)
    assert "how their 16-bit values are encoded: they are taken as sRGB" in header.notes[0]
    assert replace(header, notes=()) == replace(open_capture(path).header, notes=())


@pytest.mark.parametrize(("dtype", "levels"), [(np.uint8, (0, 255)), (np.uint16, (None, None))])
def test_portrait_pair(tmp_path, write_image, noise, dtype, levels):
    for side in ("left", "right"):
        name = f"{side}_pd/20180302_mmmm/result_{side}Pd_center.png"
        write_image(tmp_path / name, noise((12, 8), dtype, 255))
    header, capture = read_capture_header(tmp_path), open_capture(tmp_path)
    assert (header.black, header.white) == levels
    assert bool(header.notes) == (dtype == np.uint16)
    assert (capture.notes, capture.shape) == ((), header.shape)
    assert header.orientation == "transposed"
    known = read_capture_header(tmp_path, black=1024, white=16383)
    assert known == open_capture(tmp_path, black=1024, white=16383).header


def test_every_format_has_headers():
    assert [known.id for known in FORMATS if known.read_header is None] == []


def test_optics_and_orientation():
    header = CaptureHeader((2, 1, 6, 8), "uint8", 0, 255, "x", "test", ())
    assert header.with_optics(sensor_width_mm=36).optics.pixel_pitch_um == 4500
    turned = header.with_orientation("transposed")
    assert (turned.shape, turned.stored_width_px) == ((2, 1, 8, 6), 8)
    assert turned.with_orientation("landscape") == header
    with pytest.raises(CaptureError, match=r"The orientation must be landscape or transposed"):
        header.with_orientation("upright")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"black": 300}, r"the black level \(300\) must be at least 0 and below the white level"),
        ({"black": -1, "white": None}, r"the black level \(-1\) must be at least 0"),
        ({"white": float("nan")}, r"below the white level \(nan\); change the levels"),
        ({"pixel_aspect": 99}, r"the pixel aspect must be between 1/16 and 16, not 99"),
    ],
)
def test_absurd_headers(changes, message):
    header = CaptureHeader((2, 1, 6, 8), "uint8", 0, 255, "x", "test", ())
    with pytest.raises(CaptureError, match=message):
        replace(header, **changes)


def test_views_that_differ(tmp_path, write_image, noise):
    path = pair(tmp_path, write_image, noise, "picture-pair")
    write_image(tmp_path / "right.png", noise((6, 9, 3), np.uint8, 255))
    with pytest.raises(CaptureError, match=r"have different sizes \(8 x 6 px, 3 channels and 9"):
        read_capture_header(path)
    write_image(tmp_path / "right.png", noise((6, 8, 3)))
    with pytest.raises(CaptureError, match=r"have different bit depths \(8 and 16 bits"):
        read_capture_header(path)


def test_truncated_pgm(app_pair):
    app_pair[1].write_bytes(app_pair[1].read_bytes()[:-2])
    with pytest.raises(CaptureError, match=r"_right.pgm is truncated: its header declares 120"):
        read_capture_header(app_pair[0])
