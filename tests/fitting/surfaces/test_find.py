"""Surfaces of synthetic maps whose surfaces are known."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters
from napari_dpdeblur.fitting.surfaces.find import Surface, find_surfaces

HEIGHT, WIDTH = 120, 160
ROWS, COLS = np.mgrid[:HEIGHT, :WIDTH]
PARAMETERS = SurfaceParameters()
NEAR = (ROWS > 40) & (COLS > 30) & (COLS < 80)
MIDDLE = (ROWS > 20) & (COLS > 90) & (COLS < 140)


def _found(
    defocus_map: np.ndarray, sharp: np.ndarray | None = None, confidence: float = 0.5
) -> list[Surface]:
    defocus_map = defocus_map.astype(np.float32)
    sharp = np.full(defocus_map.shape, 0.5) if sharp is None else sharp
    level = np.full(defocus_map.shape, confidence, np.float32)
    return find_surfaces(defocus_map, level, sharp.astype(np.float32), PARAMETERS)


def _flat_scene(far: float, middle: float, near: float) -> np.ndarray:
    return np.where(NEAR, near, np.where(MIDDLE, middle, far))


def _overlap(region: np.ndarray, truth: np.ndarray) -> float:
    return float((region & truth).sum() / (region | truth).sum())


@pytest.mark.parametrize("scales", [(1.3, 0.9, 0.4), (0.6, 0.0, -0.7), (-0.2, -0.6, -1.1)])
def test_flat_surfaces_on_both_sides_of_the_focus_plane(scales: tuple[float, ...]) -> None:
    found = _found(_flat_scene(*scales))
    np.testing.assert_allclose([s.scale for s in found], scales, atol=0.01)
    assert [s.shape for s in found] == ["constant"] * 3
    for surface, truth in zip(found, (~NEAR & ~MIDDLE, MIDDLE, NEAR), strict=True):
        assert _overlap(surface.region, truth) > 0.95


def test_regions_cover_the_image_without_overlap() -> None:
    found = _found(_flat_scene(1.3, 0.9, 0.4))
    np.testing.assert_array_equal(sum(s.region.astype(int) for s in found), 1)
    assert sum(s.share for s in found) == pytest.approx(1)


def test_outlines_follow_the_sharp_image() -> None:
    """The map's step lies 3 px beside the edge of the image, with a ramp between."""
    truth = COLS < 80
    ramp = np.clip((COLS - 76) / 14, 0, 1) * 0.6 + 0.4
    found = _found(ramp, sharp=np.where(truth, 0.2, 0.8))
    assert [s.shape for s in found] == ["constant", "constant"]
    assert _overlap(found[1].region, truth) > 0.98


def test_one_flat_surface() -> None:
    noise = np.random.default_rng(0).normal(0, 0.005, (HEIGHT, WIDTH))
    (surface,) = _found(0.7 + noise)
    assert surface.shape == "constant"
    assert surface.region.all()
    assert surface.scale == pytest.approx(0.7, abs=0.01)


def test_a_slanted_surface_is_one_surface() -> None:
    slope = -0.4 + 0.9 * COLS / WIDTH + 0.1 * ROWS / HEIGHT
    (surface,) = _found(slope)
    assert surface.shape == "slanted"
    np.testing.assert_allclose(surface.defocus, slope, atol=0.04)


def test_a_curved_surface_is_one_surface() -> None:
    bowl = 0.4 + 0.8 * ((COLS - WIDTH / 2) / (WIDTH / 2)) ** 2
    (surface,) = _found(bowl)
    assert surface.shape == "curved"
    np.testing.assert_allclose(surface.defocus, bowl, atol=0.05)


def test_a_flat_thing_stands_in_front_of_slanted_ground() -> None:
    ground = 1.4 - 0.6 * ROWS / HEIGHT
    found = _found(np.where(NEAR, 0.3, ground))
    assert [s.shape for s in found] == ["slanted", "constant"]
    assert _overlap(found[1].region, NEAR) > 0.95


def test_a_small_island_of_nearly_the_same_defocus_belongs_to_its_surface() -> None:
    island = (ROWS - 60) ** 2 + (COLS - 80) ** 2 < 7**2
    (surface,) = _found(np.where(island, 0.75, 0.66))
    assert surface.region.all()
    found = _found(np.where(island, 0.1, 0.66))
    assert len(found) == 2


def test_without_any_confident_pixel_the_map_still_decides() -> None:
    found = _found(_flat_scene(1.3, 0.9, 0.4), confidence=0.0)
    np.testing.assert_allclose([s.scale for s in found], (1.3, 0.9, 0.4), atol=0.01)
    assert [s.confidence for s in found] == [0, 0, 0]


def test_a_map_of_noise_has_surfaces_too() -> None:
    noise = np.random.default_rng(0).random((HEIGHT, WIDTH))
    found = _found(noise)
    np.testing.assert_array_equal(sum(s.region.astype(int) for s in found), 1)


def test_without_texture_and_area_limit_all_sizes_work() -> None:
    tiny = np.where(np.arange(32 * 33).reshape(32, 33) % 33 < 16, 0.2, 1.0)
    assert len(_found(tiny)) == 2


def test_a_flat_surface_follows_the_map_only_beyond_errors_of_the_lens() -> None:
    """A bump of a tenth of the defocus may be an error of the kernels, one of twice it is not."""
    bump = np.exp(-((ROWS - 60) ** 2 + (COLS - 80) ** 2) / (2 * 12.0**2))
    for height, expected in ((0.1, 0.0), (2.0, 2.0)):
        defocus = 0.02 * (1 + height * bump)
        (surface,) = _found(defocus)
        assert surface.shape == "constant"
        rise = float(surface.defocus[60, 80]) / 0.02 - 1
        assert rise == pytest.approx(expected, abs=0.45)


def test_no_steps_inside_a_scene_close_to_the_focus_plane() -> None:
    """Where differences are small compared with the range, regions meet without a step."""
    waves = 0.03 * np.sin(ROWS / 25.0) * np.sin(COLS / 30.0)
    found = _found(waves)
    composite = np.zeros(waves.shape)
    for surface in found:
        composite[surface.region] = surface.defocus[surface.region]
    assert np.abs(composite - waves).max() < 0.012
