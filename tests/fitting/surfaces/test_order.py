"""Which surfaces share a layer, how many layers there are, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from napari_dpdeblur.fitting.parameters.surfaces import LayerStackParameters
from napari_dpdeblur.fitting.surfaces.find import Surface
from napari_dpdeblur.fitting.surfaces.order import far_to_near, group_surfaces

HEIGHT, WIDTH = 40, 60
ROWS, COLS = np.mgrid[:HEIGHT, :WIDTH]
PARAMETERS = LayerStackParameters()


def flat(region: np.ndarray, scale: float) -> Surface:
    return Surface(region, np.full(region.shape, scale, np.float32), scale, "constant", 0.5)


def slanted(region: np.ndarray, defocus: Any) -> Surface:
    values = np.broadcast_to(defocus, region.shape).astype(np.float32)
    return Surface(region, values, float(np.median(values[region])), "slanted", 0.5)


def stripes(*scales: float) -> list[Surface]:
    width = WIDTH // len(scales)
    return [flat(np.minimum(COLS // width, len(scales) - 1) == i, s) for i, s in enumerate(scales)]


def scales_of(surfaces: list[Surface]) -> list[float]:
    return [surface.scale for surface in surfaces]


def test_surfaces_of_nearly_the_same_defocus_share_a_layer() -> None:
    grouped = group_surfaces(stripes(0.4, 1.2, 0.43, 1.21), None, PARAMETERS)
    assert len(grouped) == 2
    assert grouped[0].scale == pytest.approx(1.2, abs=0.02)
    np.testing.assert_array_equal(sum(s.region.astype(int) for s in grouped), 1)
    # Each keeps its own defocus inside the layer.
    assert np.unique(grouped[1].defocus[grouped[1].region]).tolist() == pytest.approx([0.4, 0.43])


def test_defocus_beyond_an_outline_is_that_of_the_surface_inside() -> None:
    first, second, third = stripes(0.4, 1.2, 0.43)
    whole = group_surfaces([first, second, third], None, PARAMETERS)[1]
    just_outside = {"left": (20, 20), "right": (20, 39)}
    assert whole.defocus[just_outside["left"]] == pytest.approx(0.4)
    assert whole.defocus[just_outside["right"]] == pytest.approx(0.43)


def test_fewer_layers_than_surfaces_join_the_most_similar_ones() -> None:
    grouped = group_surfaces(stripes(1.4, 1.0, 0.85, 0.2), 3, PARAMETERS)
    assert scales_of(grouped) == pytest.approx([1.4, 0.925, 0.2], abs=0.08)


def test_more_layers_than_surfaces_divide_slanted_ones() -> None:
    everywhere = np.ones((HEIGHT, WIDTH), bool)
    grouped = group_surfaces([slanted(everywhere, 1.2 - COLS / WIDTH)], 4, PARAMETERS)
    assert len(grouped) == 4
    assert np.all(np.diff(scales_of(grouped)) < 0)
    np.testing.assert_array_equal(sum(s.region.astype(int) for s in grouped), 1)


def test_flat_surfaces_cannot_be_divided() -> None:
    assert len(group_surfaces(stripes(1.2, 0.3), 6, PARAMETERS)) == 2


def test_one_surface_is_one_layer() -> None:
    assert len(group_surfaces(stripes(0.7), None, PARAMETERS)) == 1


def test_a_thing_is_in_front_of_ground_that_reaches_nearer() -> None:
    """The ground rises from 1.4 to 0 and its typical defocus is nearer than that of the thing."""
    thing = (ROWS > 5) & (ROWS < 15) & (COLS > 20) & (COLS < 40)
    ground = slanted(~thing, np.maximum(1.4 - 2 * ROWS / HEIGHT, 0))
    ordered = far_to_near([ground, flat(thing, 0.75)], PARAMETERS)
    assert ground.scale < 0.75
    assert ordered[0] is ground


def test_surfaces_that_do_not_meet_are_ordered_by_defocus() -> None:
    assert scales_of(far_to_near(stripes(-0.3, 0.2, -0.8), PARAMETERS)) == [0.2, -0.3, -0.8]
