"""Meshes of layers."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.refocus.mesh import layer_meshes

HEIGHT, WIDTH = 48, 64


def _layers(defocus: np.ndarray | None = None) -> MultiplaneImage:
    alpha = np.zeros((2, 1, HEIGHT, WIDTH), np.float32)
    alpha[0] = 1
    alpha[1, 0, 16:32, 32:] = 1
    color = np.ones((2, 3, HEIGHT, WIDTH), np.float32)
    return MultiplaneImage(color, alpha, np.array([1.0, 0.4]), defocus)


def test_flat_layers_are_two_triangles_over_the_whole_picture():
    for defocus in (None, np.full((2, 1, HEIGHT, WIDTH), 0.7, np.float32)):
        meshes = layer_meshes(_layers(defocus))
        assert [len(mesh.faces) for mesh in meshes] == [2, 2]
        for mesh, scale in zip(meshes, (1.0, 0.4), strict=True):
            np.testing.assert_allclose(mesh.defocus, scale if defocus is None else 0.7)
            np.testing.assert_array_equal(mesh.places.min(0), [-0.5, -0.5])
            np.testing.assert_array_equal(mesh.places.max(0), [HEIGHT - 0.5, WIDTH - 0.5])


def test_a_slanted_layer_follows_its_defocus_where_it_has_content():
    defocus = np.ones((2, 1, HEIGHT, WIDTH), np.float32)
    defocus[1, 0] = np.linspace(9.0, 0.5, HEIGHT)[:, None]  # far beyond, where it is empty
    defocus[1, 0, 16:32] = np.linspace(0.8, 0.5, 16)[:, None]
    flat, slanted = layer_meshes(_layers(defocus), cells=32)
    assert len(flat.faces) == 2
    used = np.unique(slanted.faces)
    rows, cols = slanted.places[used].T
    assert (rows.min(), rows.max(), cols.min()) == (15.5, 31.5, 31.5)
    assert slanted.defocus.max() <= 0.8 + 1e-6
    middle = np.flatnonzero(np.isclose(slanted.places[:, 0], 23.5))
    np.testing.assert_allclose(slanted.defocus[middle], 0.65, atol=0.01)


def test_faces_cover_the_content_once():
    defocus = np.ones((2, 1, HEIGHT, WIDTH), np.float32)
    defocus[0, 0] = np.linspace(1, 0.5, WIDTH)
    mesh, _ = layer_meshes(_layers(defocus), cells=16)
    corners = mesh.places[mesh.faces]
    (ay, ax), (by, bx) = ((corners[:, i] - corners[:, 0]).T for i in (1, 2))
    areas = (ax * by - ay * bx) / 2
    assert (areas > 0).all() or (areas < 0).all(), "all faces are turned the same way"
    assert abs(areas.sum()) == pytest.approx(HEIGHT * WIDTH)
