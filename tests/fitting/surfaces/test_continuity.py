"""Slopes between regions: what stays continuous, and what is a step."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters, for_range
from napari_dpdeblur.fitting.surfaces.continuity import continued
from napari_dpdeblur.fitting.surfaces.find import find_surfaces

HEIGHT, WIDTH = 120, 160
ROWS, COLS = np.mgrid[:HEIGHT, :WIDTH]
PARAMETERS = SurfaceParameters()


def _continued(far: float, near: float, slope_px: float) -> dict[int, list[int]]:
    """Two halves with a ramp of some width between them."""
    share = np.clip((COLS - WIDTH / 2) / slope_px + 0.5, 0, 1)
    defocus = (near + (far - near) * share).astype(np.float32)
    regions = (COLS >= WIDTH // 2).astype(int)
    return continued(defocus, regions, {0: near, 1: far}, for_range(PARAMETERS, far - near))


@pytest.mark.parametrize(("far", "near"), [(0.04, -0.04), (0.06, 0.0), (-0.01, -0.08)])
def test_a_slope_close_to_the_focus_plane_has_no_step(far: float, near: float) -> None:
    assert _continued(far, near, slope_px=30) == {0: [1], 1: [0]}
    assert _continued(far, near, slope_px=1) == {}


def test_a_slope_far_from_the_focus_plane_is_a_blurred_step() -> None:
    assert _continued(1.2, 0.9, slope_px=30) == {}


def test_a_border_longer_than_an_outline_cuts_a_slanted_surface() -> None:
    """Three strips of one plane; the border of the middle one is longer than its side."""
    defocus = (0.6 + 0.5 * ROWS / HEIGHT).astype(np.float32)
    regions = np.digitize(ROWS, [50, 70])
    scales = {i: float(np.median(defocus[regions == i])) for i in range(3)}
    assert continued(defocus, regions, scales, PARAMETERS) == {0: [1], 1: [0, 2], 2: [1]}


def _steepest(defocus: np.ndarray) -> float:
    return float(np.abs(np.diff(defocus, axis=1)).max())


def test_a_rounded_thing_near_the_focus_has_no_terraces() -> None:
    """From -0.05 to 0.03, with flat ends that make two levels of it."""
    wave = (-0.01 + 0.04 * np.clip((COLS - 80) / 30, -1, 1)).astype(np.float32)
    level, sharp = np.full_like(wave, 0.5), np.full_like(wave, 0.5)
    parameters = for_range(PARAMETERS, float(np.ptp(wave)))
    maps = []
    for near_step in (parameters.near_step, 0.0):
        changed = parameters.model_copy(update={"near_step": near_step, "long_border": 99.0})
        surfaces = find_surfaces(wave, level, sharp, changed)
        maps.append(sum(surface.defocus * surface.region for surface in surfaces))
    smooth, terraced = maps
    np.testing.assert_allclose(smooth, wave, atol=0.015)
    assert _steepest(smooth) < 3 * _steepest(wave) < _steepest(terraced)
