"""Meshes of the layers of a multiplane image: flat ones of two triangles, curved ones of many."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.optics.mpi import MultiplaneImage

CELLS = 64  # along the longer side of a curved layer
VISIBLE = 1 / 255  # alpha below which nothing is drawn
FLAT = 0.01  # range of defocus of a layer that counts as flat


@dataclass(frozen=True, eq=False)
class LayerMesh:
    """Vertices of a layer: row and column (N, 2) in pixels, defocus (N,); faces (M, 3)."""

    places: FloatArray
    defocus: FloatArray
    faces: npt.NDArray[np.intp]


def layer_meshes(mpi: MultiplaneImage, cells: int = CELLS) -> list[LayerMesh]:
    """One mesh for each layer, back to front, at its own defocus; without its empty parts."""
    own = [None] * len(mpi.defocus_scales) if mpi.defocus is None else mpi.defocus
    return [
        _mesh(alpha[0], None if defocus is None else defocus[0], float(scale), cells)
        for alpha, defocus, scale in zip(mpi.alpha, own, mpi.defocus_scales, strict=True)
    ]


def _mesh(alpha: FloatArray, defocus: FloatArray | None, typical: float, cells: int) -> LayerMesh:
    height, width = alpha.shape
    inside = np.empty(0) if defocus is None else defocus[alpha > VISIBLE]
    low, high = (float(inside.min()), float(inside.max())) if inside.size else (typical, typical)
    if defocus is None or high - low < FLAT:
        places = np.array([(0, 0), (0, width), (height, width), (height, 0)], np.float32) - 0.5
        faces = np.array([(0, 1, 2), (0, 2, 3)], np.intp)
        return LayerMesh(places, np.full(4, (low + high) / 2, np.float32), faces)
    rows, cols = (max(round(cells * side / max(height, width)), 1) for side in (height, width))
    y, x = np.meshgrid(
        np.linspace(0, height, rows + 1), np.linspace(0, width, cols + 1), indexing="ij"
    )
    places = np.stack([y, x], axis=-1).reshape(-1, 2).astype(np.float32) - 0.5
    # where a layer is empty its defocus is extrapolated, so far as it may be anything
    values = cv2.remap(
        np.clip(defocus, low, high).astype(np.float32),
        (x - 0.5).astype(np.float32),
        (y - 0.5).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    number = np.arange((rows + 1) * (cols + 1)).reshape(rows + 1, cols + 1)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    faces = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=2)
    return LayerMesh(
        places,
        np.asarray(values, np.float32).ravel(),
        faces[_has_content(alpha, rows, cols)].reshape(-1, 3),
    )


def _has_content(alpha: FloatArray, rows: int, cols: int) -> npt.NDArray[np.bool_]:
    """Which cells (rows, cols) contain something visible."""
    height, width = alpha.shape
    y, x = (np.arange(n + 1) * side / n for n, side in ((rows, height), (cols, width)))
    tops, lefts = np.floor(y[:-1]).astype(int), np.floor(x[:-1]).astype(int)
    visible = np.maximum.reduceat(np.maximum.reduceat(alpha, tops, axis=0), lefts, axis=1)
    return np.asarray(visible > VISIBLE)
