"""The preview: tone curve, colours and layout."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.results.defocus_colors import diverging_scale, sequential_scale
from napari_dpdeblur.results.preview import preview_picture, tone_curve, white_point


def test_the_tone_curve_is_srgb_relative_to_white() -> None:
    image = np.array([[[0.0, 0.002, 0.1 * 0.5, 0.5, 0.9]]], np.float32)
    expected = [0, round(255 * 12.92 * 0.002 / 0.5 * 1.0), 89, 255, 255]
    shown = tone_curve(image, white=0.5)
    assert shown.shape == (1, 5, 3)
    np.testing.assert_allclose(shown[0, :, 0], expected, atol=2)


def test_white_is_nearly_the_brightest() -> None:
    image = np.full((1, 100, 100), 0.2, np.float32)
    image[0, 0, 0] = 50.0
    assert white_point(image) == pytest.approx(0.2)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_panels_hold_the_pictures(channels: int) -> None:
    image = np.random.default_rng(0).uniform(0, 1, (channels, 40, 60)).astype(np.float32)
    defocus = np.tile(np.linspace(0.1, 1.0, 60), (40, 1))
    picture = preview_picture(image, defocus, captured=image)
    left = tone_curve(image, white_point(image))
    np.testing.assert_array_equal(picture[34 : 34 + 40, 12 : 12 + 60], left)
    np.testing.assert_array_equal(picture[34 : 34 + 40, 84 : 84 + 60], left)
    np.testing.assert_array_equal(
        picture[34 : 34 + 40, 156 : 156 + 60], sequential_scale(0.1, 1.0).paint(defocus)
    )


def test_a_map_of_both_sides_has_diverging_colours_and_a_marked_focus() -> None:
    image = np.random.default_rng(0).uniform(0, 1, (1, 300, 700)).astype(np.float32)
    defocus = np.tile(np.linspace(-0.8, 0.4, 700), (300, 1))
    picture = preview_picture(image, defocus)
    panel = picture[34 : 34 + 300, 12 + 700 + 12 : 12 + 700 + 12 + 700]
    np.testing.assert_array_equal(panel, diverging_scale(-0.8, 0.8).paint(defocus))
    one_sided = preview_picture(image, defocus + 0.8)
    header = np.s_[:8, 12 + 700 + 12 + 300 :]  # above the colour bar
    assert (picture[header] > 128).any()
    assert not (one_sided[header] > 128).any()


def test_without_the_capture_there_are_two_panels() -> None:
    image = np.full((1, 40, 60), 0.2, np.float32)
    assert preview_picture(image, image[0]).shape[1] == 2 * 60 + 3 * 12


def test_a_large_picture_is_shrunk() -> None:
    image = np.random.default_rng(0).uniform(0, 1, (1, 1000, 1500)).astype(np.float32)
    assert preview_picture(image, image[0]).shape == (34 + 480 + 12, 2 * 720 + 3 * 12, 3)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_picture_does_not_divide_by_zero(value: float) -> None:
    image = np.full((1, 40, 60), value, np.float32)
    assert preview_picture(image, image[0], image).dtype == np.uint8
