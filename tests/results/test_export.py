"""Pictures for other programs."""

from __future__ import annotations

import errno
import os

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import export, read_image, read_mpi


def test_the_curve_is_that_of_srgb():
    """Middle grey (18 %) and both ends; the straight toe meets the power law."""
    linear = np.array([0.0, 0.0031308, 0.18, 1.0, 2.0, -1.0, np.nan])
    expected = [0.0, 0.04045, 0.4613561, 1.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(export.srgb_encode(linear), expected, atol=1e-5)


def test_the_table_of_bytes_is_that_curve():
    linear = np.linspace(-0.1, 1.1, 100_003, dtype=np.float32)
    exact = 255 * export.srgb_encode(linear)
    np.testing.assert_allclose(export.srgb_bytes(linear), exact, atol=0.52)
    assert export.srgb_bytes(np.array([np.nan, np.inf, -np.inf])).tolist() == [0, 255, 0]


@pytest.mark.parametrize(("dtype", "middle"), [(np.uint8, 118), (np.uint16, 30235)])
def test_white_becomes_full_scale(dtype, middle):
    image = np.array([[[0.0, 0.09, 0.5, 0.7]]], np.float32)
    values = export.display_values(image, white=0.5, dtype=dtype)
    assert values.dtype == dtype
    full = np.iinfo(dtype).max
    np.testing.assert_array_equal(values, [[0, middle, full, full]])


def test_white_is_nearly_the_brightest_unless_given():
    image = np.linspace(0, 0.2, 10_001, dtype=np.float32).reshape(1, 1, -1)
    values = export.display_values(image)
    assert values[0, 9_900] < 65535
    assert values[0, 9_990] == 65535


def test_an_image_of_a_single_value_is_no_division_by_zero():
    assert export.display_values(np.zeros((1, 4, 5), np.float32)).max() == 0


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".TIFF"])
def test_a_picture_keeps_16_bits_and_its_colours(tmp_path, channels, suffix):
    image = np.random.default_rng(0).uniform(0, 1, (channels, 12, 17)).astype(np.float32)
    path = export.write_picture(tmp_path / f"sharp{suffix}", image, white=1.0)
    pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    pixels = pixels if channels == 1 else pixels[..., ::-1]
    np.testing.assert_array_equal(pixels, export.display_values(image, 1.0))
    assert len(np.unique(pixels)) > 200


def test_a_defocus_map_keeps_its_values_in_tiff(tmp_path):
    values = np.random.default_rng(0).uniform(0.1, 1.4, (12, 17)).astype(np.float32)
    path = export.write_defocus(tmp_path / "map.tif", values)
    np.testing.assert_array_equal(read_image(path)[0], values)
    with tifffile.TiffFile(path) as tiff:
        assert '"unit": "defocus scale"' in tiff.pages[0].description


def test_a_defocus_map_is_coloured_in_png(tmp_path):
    values = np.array([[0.2, 0.7, 1.2, 9.0]], np.float32)
    path = export.write_defocus(tmp_path / "map.png", values, limits=(0.2, 1.2))
    with Image.open(path) as picture:
        pixels = np.asarray(picture)
        assert picture.text["Description"] == "defocus scale, viridis from 0.2 to 1.2"
    # The ends of viridis, dark violet and yellow; more than the limit stays at the end.
    np.testing.assert_allclose(pixels[0, 0], (68, 1, 84), atol=2)
    np.testing.assert_allclose(pixels[0, 2], (253, 231, 36), atol=2)
    np.testing.assert_array_equal(pixels[0, 3], pixels[0, 2])


def test_a_signed_map_is_coloured_around_the_focus_plane(tmp_path):
    values = np.array([[-0.4, 0.0, 0.2, 0.8]], np.float32)
    path = export.write_defocus(tmp_path / "map.png", values)
    with Image.open(path) as picture:
        pixels = np.asarray(picture)
        assert picture.text["Description"] == "defocus scale, front-focus-behind from -0.8 to 0.8"
    assert np.ptp(pixels[0, 1]) == 0
    assert pixels[0, 0, 0] > pixels[0, 0, 2]  # warm in front
    assert pixels[0, 3, 0] < pixels[0, 3, 2]  # blue behind
    back = read_image(export.write_defocus(tmp_path / "map.tif", values))
    np.testing.assert_array_equal(back[0], values)


def test_chosen_colours_and_limits_are_used_as_they_are(tmp_path):
    values = np.array([[-0.4, 0.0, 0.2, 0.8]], np.float32)
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    path = export.write_defocus(tmp_path / "map.png", values, (-0.4, 0.8), ("gray", ramp))
    with Image.open(path) as picture:
        np.testing.assert_array_equal(np.asarray(picture)[0, :, 0], [0, 85, 128, 255])


def test_layers_are_pages(tmp_path, make_result):
    result = make_result(channels=3, layers=5)
    path = export.write_layer_stack(
        tmp_path / "mpi.tif", result.mpi_color, result.mpi_alpha, result.defocus_scales
    )
    color, alpha, scales = read_mpi(path)
    np.testing.assert_allclose(color, result.mpi_color, atol=1e-3)
    np.testing.assert_allclose(alpha, result.mpi_alpha, atol=1e-3)
    np.testing.assert_allclose(scales, result.defocus_scales)


@pytest.mark.parametrize(
    ("write", "name", "message"),
    [
        (
            export.write_picture,
            "a.jpg",
            r"a.jpg has the wrong suffix for the all-in-.*\.png or",
        ),
        (export.write_defocus, "a", r"a has the wrong suffix for the defocus map; use .png"),
    ],
)
def test_unknown_suffixes_are_named(tmp_path, write, name, message):
    shape = (1, 4, 5) if write is export.write_picture else (4, 5)
    with pytest.raises(ResultError, match=message):
        write(tmp_path / name, np.ones(shape, np.float32))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(ResultError, match=r"a\.png cannot be written \(No such file or directory"):
        export.write_picture(tmp_path / "missing" / "a.png", np.ones((1, 4, 5), np.float32))


def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    path = export.write_defocus(tmp_path / "a.tif", np.ones((4, 5), np.float32))
    before = path.read_bytes()

    def fail(target, *_, **__):
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export, "write_image", fail)
    with pytest.raises(ResultError, match=r"No space left on device\); free disk space or choose"):
        export.write_defocus(path, np.zeros((4, 5), np.float32))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
