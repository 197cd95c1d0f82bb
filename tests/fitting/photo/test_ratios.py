import cv2
import numpy as np
import pytest

from napari_dpdeblur.fitting.parameters.photo import ColorParameters
from napari_dpdeblur.fitting.photo.ratios import compare, surface_ratios

PARAMETERS = ColorParameters()
SHAPE = (96, 128)
WHITE = np.ones(3, np.float32)
ORANGE, BLUE = np.float32((0.8, 0.35, 0.1)), np.float32((0.1, 0.2, 0.5))


def _stripes(first, second, width_px=8):
    """Two colours in stripes: (3, H, W)."""
    is_first = (np.arange(SHAPE[1]) // width_px) % 2 == 0
    row = np.where(is_first, first[:, None], second[:, None])
    return np.repeat(row[:, None], SHAPE[0], axis=1).astype(np.float32)


def _blurred(colors, sigma_px):
    return np.stack([cv2.GaussianBlur(plane, (0, 0), sigma_px) for plane in colors])


def _ratios(colors, photo, inside=None, is_clipped=None):
    clipped = np.zeros(SHAPE, bool) if is_clipped is None else is_clipped
    seen = compare(colors[1], photo, clipped, PARAMETERS)
    everywhere = np.ones(SHAPE, np.float32)
    return surface_ratios(colors[1], seen, everywhere if inside is None else inside, PARAMETERS)


def _true(colors):
    return np.stack([colors[0], colors[2]]) / colors[1]


def test_colours_of_a_blurred_photo_follow_the_sharp_image():
    colors = _stripes(ORANGE, BLUE)
    photo = 0.6 * _blurred(colors, 3.0)
    found, support = _ratios(colors, photo)
    blurred = np.abs(_true(photo) / _true(colors) - 1).mean()
    assert np.abs(found / _true(colors) - 1).mean() < 0.3 * blurred
    assert support.min() > 0


def test_a_sharp_photo_gives_its_own_colours():
    generator = np.random.default_rng(0)
    colors = generator.uniform(0.1, 0.9, (3, *SHAPE)).astype(np.float32)
    colors = _blurred(colors, 2.0)  # of no line
    found, _ = _ratios(colors, 0.7 * colors)
    np.testing.assert_allclose(found, _true(colors), rtol=0.03)


def test_white_stays_white_and_noise_of_the_sharp_image_gets_no_colour():
    generator = np.random.default_rng(0)
    sharp = (0.5 + 0.05 * generator.standard_normal(SHAPE)).astype(np.float32)
    photo = np.full((3, *SHAPE), 0.4, np.float32)
    photo += 0.004 * generator.standard_normal(photo.shape).astype(np.float32)
    seen = compare(sharp, photo, np.zeros(SHAPE, bool), PARAMETERS)
    found, _ = surface_ratios(sharp, seen, np.ones(SHAPE, np.float32), PARAMETERS)
    np.testing.assert_allclose(found, 1, atol=0.04)


def test_a_surface_takes_no_colour_of_what_is_beside_it():
    colors = _stripes(ORANGE, BLUE, 64)
    photo = _blurred(colors, 4.0)
    inside = np.zeros(SHAPE, np.float32)
    inside[:, :62] = 1
    found, _ = _ratios(colors, photo, inside)
    np.testing.assert_allclose(found[:, :, :64], _true(colors)[:, :, :64], atol=0.25)


def test_what_the_photo_does_not_see_or_shows_otherwise_has_no_support():
    colors = _stripes(ORANGE, BLUE)
    photo = colors.copy()
    photo[:, :, 100:] = np.nan
    _, support = _ratios(colors, photo)
    assert support[:, 127].max() < support[:, 50].min()
    moved = colors.copy()
    moved[:, 20:70, 20:70] = 0.9 * WHITE[:, None, None]  # somebody walked by
    seen = compare(colors[1], moved, np.zeros(SHAPE, bool), PARAMETERS)
    assert seen.weight[35:55, 35:55].max() < 0.3
    assert seen.weight[80:, 80:].min() > 0.5


def test_clipped_pixels_hardly_count():
    colors = np.repeat(np.repeat(ORANGE[:, None, None], SHAPE[0], 1), SHAPE[1], 2)
    photo = colors.copy()
    photo[:, 40:60, 40:60] = 1
    clipped = (photo >= 1).all(0)
    found, _ = _ratios(colors, photo, is_clipped=clipped)
    assert found[0].mean() == pytest.approx(ORANGE[0] / ORANGE[1], rel=0.05)
