"""Layers of surfaces: coverage, continuation, colours of hidden parts."""

from __future__ import annotations

import numpy as np
import torch

from napari_dpdeblur.fitting.parameters.surfaces import LayerStackParameters
from napari_dpdeblur.fitting.surfaces.find import Surface
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers, surface_layers
from napari_dpdeblur.optics.mpi import transmittance

HEIGHT, WIDTH = 60, 80
ROWS, COLS = np.mgrid[:HEIGHT, :WIDTH]
THING = (ROWS > 15) & (ROWS < 45) & (COLS > 20) & (COLS < 60)
PARAMETERS = LayerStackParameters(continuation_px=6)


def flat(region: np.ndarray, scale: float) -> Surface:
    return Surface(region, np.full(region.shape, scale, np.float32), scale, "constant", 0.5)


def image() -> torch.Tensor:
    """A striped background behind a bright thing."""
    stripes = 0.2 + 0.1 * (COLS // 4 % 2)
    return torch.from_numpy(np.where(THING, 0.9, stripes).astype(np.float32))[None]


def layers() -> SurfaceLayers:
    return surface_layers([flat(~THING, 1.2), flat(THING, 0.3)], image(), PARAMETERS)


def test_every_pixel_is_covered_once_and_mostly_by_one_layer() -> None:
    shares = transmittance(layers().alpha)
    np.testing.assert_allclose(shares.sum(0), 1, atol=1e-5)
    assert float((shares > 0.05).float().sum(0).mean()) < 1.1
    np.testing.assert_allclose(shares, layers().own, atol=1e-4)


def test_the_back_layer_is_opaque_and_shows_only_background() -> None:
    found = layers()
    assert bool((found.alpha[0] == 1).all())
    color = found.color(image(), PARAMETERS)
    assert float(color[0].max()) < 0.5  # the thing is 0.9
    assert float(color[0, 0][THING].std()) > 0


def test_visible_parts_have_the_colours_of_the_image() -> None:
    color = layers().color(image(), PARAMETERS)
    composite = (transmittance(layers().alpha) * color).sum(0)
    inside = np.ones_like(THING)
    inside[13:18] = inside[42:47] = inside[:, 18:23] = inside[:, 57:62] = False  # the outline
    np.testing.assert_allclose(composite[0][inside], image()[0][inside], atol=1e-5)


def test_a_surface_continues_only_behind_nearer_ones() -> None:
    middle = (COLS >= 40) & ~THING
    surfaces = [flat((COLS < 40) & ~THING, 1.3), flat(middle, 0.9), flat(THING, 0.3)]
    alpha = surface_layers(surfaces, image(), PARAMETERS).alpha[1, 0]
    assert float(alpha[30, 57]) == 1  # behind the thing, within reach
    assert float(alpha[30, 45]) == 0  # beyond it
    assert float(alpha[5, 20]) == 0  # the farther surface stays visible


def test_the_map_is_that_of_the_surfaces_and_scales_fall() -> None:
    found = layers()
    np.testing.assert_allclose(found.defocus_map()[30, 40], 0.3, atol=1e-4)
    np.testing.assert_allclose(found.defocus_map()[2, 2], 1.2, atol=1e-4)
    equal = surface_layers([flat(~THING, 0.5), flat(THING, 0.5)], image(), PARAMETERS)
    assert float(equal.scales[1]) < float(equal.scales[0])


def test_one_surface_is_one_opaque_layer() -> None:
    everything = np.ones_like(THING)
    found = surface_layers([flat(everything, 0.5)], image(), PARAMETERS)
    assert found.alpha.shape == (1, 1, HEIGHT, WIDTH)
    np.testing.assert_array_equal(found.color(image(), PARAMETERS)[0], image())
