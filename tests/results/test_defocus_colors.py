"""Colours of defocus maps: which ones, where 0 is, and what a trace of the front is."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.results.defocus_colors import (
    DIVERGING,
    SEQUENTIAL,
    TRACE_SHARE,
    color_scale,
    diverging_palette,
    diverging_scale,
    is_two_sided,
    painted,
    sequential_scale,
)


def _lightness(colors: np.ndarray) -> np.ndarray:
    """CIE L* of sRGB bytes (N, 3)."""
    encoded = colors / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    return np.asarray(116 * np.cbrt(luminance) - 16)


def test_more_blur_behind_the_focus_is_brighter() -> None:
    colors = sequential_scale(0.1, 1.4).paint(np.linspace(0.1, 1.4, 50)[None])
    assert (np.diff(_lightness(colors[0])) > 0).all()


def test_the_diverging_colours_darken_equally_on_both_sides_of_a_neutral_focus() -> None:
    palette = diverging_palette()
    centre = len(palette) // 2
    assert len(palette) == 2 * centre + 1
    assert np.ptp(palette[centre]) == 0  # grey
    lightness = _lightness(palette)
    assert (np.diff(lightness[: centre + 1]) >= 0).all()
    assert (np.diff(lightness[centre:]) <= 0).all()
    np.testing.assert_allclose(lightness, lightness[::-1], atol=3.0)
    assert (palette[: centre - 8, 0] > palette[: centre - 8, 2]).all()  # warm in front
    assert (palette[centre + 9 :, 0] < palette[centre + 9 :, 2]).all()  # blue behind


@pytest.mark.parametrize(("low", "high"), [(-0.8, 0.8), (-0.2, 1.1), (-1.0, -0.3)])
def test_a_signed_map_has_its_focus_at_the_neutral_colour(low: float, high: float) -> None:
    values = np.linspace(low, high, 400).reshape(20, 20)
    scale = color_scale(values)
    farther = max(-low, high)
    assert (scale.name, scale.limits) == (DIVERGING, (-farther, farther))
    assert scale.is_diverging
    neutral = scale.paint(np.zeros((1, 1)))[0, 0]
    np.testing.assert_array_equal(neutral, diverging_palette()[len(diverging_palette()) // 2])


def test_a_map_behind_the_focus_keeps_viridis_over_its_range() -> None:
    scale = color_scale(np.linspace(0.0, 1.2, 400).reshape(20, 20))
    assert (scale.name, scale.limits, scale.is_diverging) == (SEQUENTIAL, (0.0, 1.2), False)
    np.testing.assert_array_equal(scale.paint(np.array([[0.0, 1.2]]))[0, 0], [68, 1, 84])


def test_a_trace_of_negative_values_does_not_count() -> None:
    values = np.ones(10_000)
    few = round(TRACE_SHARE * values.size)
    values[:few] = -1.0
    assert not is_two_sided(values)
    values[: few + 1] = -1.0
    assert is_two_sided(values)
    noise = np.where(np.arange(10_000) % 2, 1.0, -0.01)  # in focus, not in front
    assert not is_two_sided(noise)


def test_given_limits_are_made_symmetric_for_a_signed_map() -> None:
    values = np.linspace(-0.5, 0.5, 100).reshape(10, 10)
    assert color_scale(values, (-0.4, 0.9)).limits == (-0.9, 0.9)
    assert color_scale(abs(values), (-0.4, 0.9)).limits == (-0.4, 0.9)


def test_limits_can_be_changed_later() -> None:
    assert diverging_scale(-1, 1).with_limits(-0.2, 0.6).limits == (-0.6, 0.6)
    assert sequential_scale(-1, 1).with_limits(-0.2, 0.6).limits == (-0.2, 0.6)


def test_unknown_pixels_and_empty_maps_have_colours_too() -> None:
    unknown = np.full((2, 3), np.nan)
    assert color_scale(unknown).limits == (0.0, 1.0)
    assert color_scale(unknown).paint(unknown).shape == (2, 3, 3)
    assert not is_two_sided(np.zeros((0, 4)))


def test_a_palette_of_any_length_is_used_from_end_to_end() -> None:
    palette = np.arange(15, dtype=np.uint8).reshape(5, 3)
    shown = painted(np.array([[-1.0, 0.0, 0.5, 1.0, 2.0]]), (0.0, 1.0), palette)
    np.testing.assert_array_equal(shown[0, :, 0], [0, 0, 6, 12, 12])
