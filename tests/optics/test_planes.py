"""Planes of slanted layers, as arrays and as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.optics.planes import layer_planes


def _slanted(library: Any) -> tuple[Any, Any]:
    """Alpha and defocus (1, 8, 12) of a layer that is slanted, half-transparent and has a hole."""
    alpha = np.full((1, 8, 12), 0.5, np.float32)
    alpha[:, :3, :5] = 0
    defocus = np.broadcast_to(np.linspace(1.2, 0.6, 12, dtype=np.float32), (1, 8, 12)).copy()
    return (alpha, defocus) if library is np else (torch.tensor(alpha), torch.tensor(defocus))


@pytest.mark.parametrize("library", [np, torch])
def test_planes_sum_to_the_layer_and_have_its_defocus(library: Any) -> None:
    alpha, defocus = _slanted(library)
    planes = layer_planes(alpha, defocus, 0.9, 0.1)
    assert [plane.scale for plane in planes] == pytest.approx(np.linspace(0.6, 1.2, 7))
    weights = np.stack([np.asarray(plane.weight) for plane in planes])
    np.testing.assert_allclose(weights.sum(0), np.asarray(alpha), atol=1e-6)
    assert ((weights > 0).sum(0) <= 2).all(), "a pixel lies on the two planes around it"
    mean = sum(plane.scale * w for plane, w in zip(planes, weights, strict=True))
    np.testing.assert_allclose(mean, np.asarray(alpha * defocus), atol=1e-6)


def test_a_layer_without_own_defocus_is_one_plane() -> None:
    alpha, defocus = _slanted(np)
    for own in (None, np.full_like(defocus, 0.4)):
        (plane,) = layer_planes(alpha, own, 0.4)
        assert plane.scale == pytest.approx(0.4)
        np.testing.assert_array_equal(plane.weight, alpha)
    (empty,) = layer_planes(0 * alpha, defocus, 0.7)
    assert empty.scale == 0.7


def test_each_layer_of_a_multiplane_image_has_its_planes() -> None:
    alpha, defocus = _slanted(np)
    defocus = np.stack([defocus, 0 * defocus + 0.2])
    color = np.zeros((2, 3, 8, 12), np.float32)
    mpi = MultiplaneImage(color, np.stack([alpha, alpha]), np.float32([0.9, 0.2]), defocus)
    assert [len(planes) for planes in mpi.planes(0.1)] == [7, 1]
    flat = MultiplaneImage(color, mpi.alpha, mpi.defocus_scales)
    assert [plane.scale for (plane,) in flat.planes()] == pytest.approx([0.9, 0.2])
