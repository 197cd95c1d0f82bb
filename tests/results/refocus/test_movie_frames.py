"""Frames of movies."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.refocus.aperture import SWAY, round_aperture
from napari_dpdeblur.results.refocus.movie_frames import (
    FOCUS,
    PARALLAX,
    TURNTABLE,
    focus_sweep,
    movie_renders,
    swing,
)
from napari_dpdeblur.results.refocus.renderer import Shot
from napari_dpdeblur.results.refocus.viewpoint import SharpViews

HEIGHT, WIDTH = 48, 64


@pytest.fixture
def layers() -> MultiplaneImage:
    color = np.random.default_rng(0).uniform(0, 1, (2, 1, HEIGHT, WIDTH)).astype(np.float32)
    alpha = np.ones_like(color)
    alpha[1, 0, :, 30:] = 0
    return MultiplaneImage(color, alpha, np.array([1.0, 0.2]))


def test_a_swing_goes_from_side_to_side():
    places = swing(5)
    assert (places[0], places[2], places[-1]) == pytest.approx((1, 0, -1))
    assert places[0] - places[1] < places[1] - places[2], "slower at the ends"


def test_the_focus_sweeps_over_all_layers(layers):
    focuses = [shot.focus for shot in focus_sweep(layers, Shot(aperture=2.0), 3)]
    assert focuses == pytest.approx([0.2, 0.6, 1.0])
    defocus = np.full_like(layers.alpha, 0.2)
    defocus[0] = np.linspace(1.4, 0.8, WIDTH)
    defocus[1, 0, :, 30:] = -5  # nothing is there
    slanted = MultiplaneImage(layers.color, layers.alpha, layers.defocus_scales, defocus)
    shots = focus_sweep(slanted, Shot(aperture=2.0), 3)
    assert [shot.focus for shot in shots] == pytest.approx([0.2, 0.8, 1.4])
    assert {shot.aperture for shot in shots} == {2.0}


@pytest.mark.parametrize("kind", [FOCUS, PARALLAX, TURNTABLE])
def test_frames_of_each_kind(layers, kind):
    aperture = round_aperture((HEIGHT, WIDTH), 6.0)
    frames = [render() for render in movie_renders(kind, layers, aperture, Shot(0.2), 3)]
    assert {frame.shape for frame in frames} == {(1, HEIGHT, WIDTH)}
    assert np.abs(frames[0] - frames[-1]).mean() > 0.01
    if kind == FOCUS:  # the nearest layer is sharp first, the farthest last
        np.testing.assert_allclose(frames[0][0, :, 5:20], layers.color[1, 0, :, 5:20], atol=1e-3)
        np.testing.assert_allclose(frames[-1][0, :, 50:], layers.color[0, 0, :, 50:], atol=0.05)
    else:
        np.testing.assert_allclose(frames[1], layers.all_in_focus(), atol=1e-4)
    if kind == PARALLAX:
        sway = SWAY * float(aperture.grid.disparity_px()[0])
        expected = SharpViews(layers).parallax((sway, 0.0), 0.2)
        np.testing.assert_allclose(frames[0], expected, atol=1e-5)
