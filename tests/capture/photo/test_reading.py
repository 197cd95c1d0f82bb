import importlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from napari_dpdeblur.capture.levels import srgb_to_linear
from napari_dpdeblur.capture.photo import Photo, find_photo, open_photo, reading
from napari_dpdeblur.capture.picture import read_planes
from napari_dpdeblur.errors import CaptureError

ORIENTATION = 0x0112


@pytest.fixture
def picture():
    """Colours that differ in every pixel, (12, 16, 3)."""
    return np.random.default_rng(0).integers(20, 230, (12, 16, 3), dtype=np.uint8)


def _expected(picture):
    return srgb_to_linear(picture.astype(np.float32) / np.iinfo(picture.dtype).max)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff"])
def test_pictures_are_linearised(tmp_path, picture, suffix):
    path = tmp_path / f"photo{suffix}"
    Image.fromarray(picture).save(path)
    photo = open_photo(path)
    np.testing.assert_allclose(np.moveaxis(photo.pixels, 0, -1), _expected(picture), atol=1e-6)
    assert (photo.name, photo.size_px, len(photo.sha256)) == (path.name, (16, 12), 64)
    assert not photo.is_clipped.any()
    assert "16 x 12" in repr(photo)


def test_jpeg_16_bit_png_and_linear_tiff(tmp_path, picture):
    Image.fromarray(np.full((32, 32, 3), (200, 100, 50), np.uint8)).save(tmp_path / "a.jpg")
    red, green, blue = open_photo(tmp_path / "a.jpg").pixels.mean((1, 2))
    assert red > 2 * green > 4 * blue
    deep = picture.astype(np.uint16) * 257
    cv2.imwrite(str(tmp_path / "b.png"), deep[..., ::-1])
    np.testing.assert_allclose(
        np.moveaxis(open_photo(tmp_path / "b.png").pixels, 0, -1), _expected(deep), atol=1e-6
    )
    linear = picture.astype(np.float32) / 255
    tifffile.imwrite(tmp_path / "c.tif", linear, photometric="rgb")
    np.testing.assert_allclose(np.moveaxis(open_photo(tmp_path / "c.tif").pixels, 0, -1), linear)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_photos_are_turned_as_exif_says(tmp_path, picture, orientation, suffix):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = tmp_path / f"photo{suffix}"
    large = np.kron(picture, np.ones((16, 16, 1), np.uint8))
    Image.fromarray(large).save(path, exif=exif, **({"quality": 100} if suffix == ".jpg" else {}))
    with Image.open(path) as stored:
        upright = np.asarray(ImageOps.exif_transpose(stored))
    photo = open_photo(path)
    np.testing.assert_allclose(np.moveaxis(photo.pixels, 0, -1), _expected(upright), atol=1e-6)


@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_views_are_not_turned(tmp_path, picture, orientation):
    """Both views of a capture are stored alike, and row and column mean what the sensor read."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    Image.fromarray(picture).save(tmp_path / "l.tif", exif=exif)
    np.testing.assert_array_equal(read_planes(tmp_path / "l.tif"), np.moveaxis(picture, -1, 0))


def test_a_large_photo_is_reduced_and_clipped_pixels_are_marked(tmp_path, monkeypatch, picture):
    monkeypatch.setattr(reading, "MAX_SIDE_PX", 8)
    picture[:2, :2] = 255
    Image.fromarray(picture).save(tmp_path / "a.png")
    photo = open_photo(tmp_path / "a.png")
    assert photo.pixels.shape == (3, 6, 8)
    assert photo.size_px == (16, 12)
    assert photo.is_clipped[0, 0]
    assert photo.is_clipped.sum() == 1
    expected = _expected(picture).reshape(6, 2, 8, 2, 3).mean((1, 3))
    np.testing.assert_allclose(np.moveaxis(photo.pixels, 0, -1), expected, atol=1e-5)


def _write_dng(path, raw):
    """A minimal DNG: Bayer values with black at 0 and white at 1023, white balance 2, 1, 1.5."""
    identity = [1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]
    tags = [
        (50706, "B", 4, bytes((1, 4, 0, 0)), True),
        (50708, "s", 0, "Test", True),
        (33421, "H", 2, (2, 2), True),
        (33422, "B", 4, bytes((0, 1, 1, 2)), True),
        (50714, "H", 1, 0, True),
        (50717, "H", 1, 1023, True),
        (50721, "2i", 9, identity, True),
        (50728, "2I", 3, (1, 2, 1, 1, 2, 3), True),
        (50778, "H", 1, 21, True),
    ]
    tifffile.imwrite(path, raw, photometric=32803, extratags=tags, metadata=None)


def test_a_dng_is_developed_with_its_white_balance(tmp_path):
    pytest.importorskip("rawpy")
    raw = np.empty((64, 96), np.uint16)
    raw[0::2, 0::2], raw[0::2, 1::2], raw[1::2, 0::2], raw[1::2, 1::2] = 100, 200, 200, 133
    raw[:, 48:] *= 2
    _write_dng(tmp_path / "a.dng", raw)
    photo = open_photo(tmp_path / "a.dng")
    assert photo.pixels.shape == (3, 32, 48)
    left, right = (
        photo.pixels[:, 8:24, 4:20].mean((1, 2)),
        photo.pixels[:, 8:24, 28:44].mean((1, 2)),
    )
    assert left.max() / left.min() < 1.35  # grey in the balance of the camera, up to its primaries
    np.testing.assert_allclose(right / left, 2, rtol=0.02)  # linear


def test_what_is_no_colour_photo_is_refused(tmp_path, picture):
    with pytest.raises(CaptureError, match=r"The photo .* does not exist; check the path\."):
        open_photo(tmp_path / "missing.jpg")
    (tmp_path / "text.jpg").write_text("no picture")
    with pytest.raises(CaptureError, match=r"is not a JPEG, PNG, TIFF or DNG file; choose"):
        open_photo(tmp_path / "text.jpg")
    for name, grey in (("a.png", picture[..., 0]), ("b.png", picture[..., :1].repeat(3, 2))):
        Image.fromarray(grey).save(tmp_path / name)
        with pytest.raises(CaptureError, match=r"has no colour; choose a colour photo\."):
            open_photo(tmp_path / name)
    Image.fromarray(picture).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:200])
    with pytest.raises(CaptureError, match=r"damaged"):
        open_photo(tmp_path / "cut.png")
    (tmp_path / "bad.dng").write_bytes(b"II*\0" + bytes(100))
    with pytest.raises(CaptureError, match=r"cannot be read as a DNG file"):
        open_photo(tmp_path / "bad.dng")
    with pytest.raises(CaptureError, match=r"must have shape \(3, rows, columns\)"):
        Photo(np.zeros((1, 4, 4), np.float32), np.zeros((4, 4), bool), "a")


def test_a_dng_without_rawpy_says_what_to_install(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    (tmp_path / "a.dng").write_bytes(b"II*\0")
    with pytest.raises(CaptureError, match=r"DNG photos require rawpy; install it with pip"):
        open_photo(tmp_path / "a.dng")


def test_a_photo_is_found_by_the_name_of_its_capture(tmp_path):
    for name in ("scene.JPG", "other.png", "scene_left.pgm", "scene.txt"):
        (tmp_path / name).touch()
    assert find_photo(tmp_path, "scene") == tmp_path / "scene.JPG"
    assert find_photo(tmp_path, "third") is None
    assert find_photo(tmp_path / "missing", "scene") is None
    (tmp_path / "scene_photo.dng").touch()
    assert find_photo(tmp_path, "scene") == tmp_path / "scene_photo.dng"


def test_a_transposed_photo_keeps_its_hash(tmp_path, picture):
    Image.fromarray(picture).save(tmp_path / "a.png")
    photo = open_photo(tmp_path / "a.png")
    turned = photo.transposed()
    np.testing.assert_array_equal(turned.pixels, photo.pixels.swapaxes(-1, -2))
    assert turned.content_hash() == photo.content_hash() == photo.sha256
    plain = Photo(photo.pixels, photo.is_clipped, "a")
    assert plain.content_hash() != Photo(2 * photo.pixels, photo.is_clipped, "a").content_hash()
