"""Regions of surfaces: plateaus as markers, outlines along the edges of the sharp image."""

from __future__ import annotations

from importlib import import_module

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters

# skimage is loaded when surfaces are sought: a preview seeks none, and should start quickly.


def load_ahead() -> None:
    """Load what finding surfaces needs."""
    for name in ("skimage.segmentation", "skimage.measure"):
        import_module(name)


def _watershed(relief: FloatArray, seeds: np.ndarray) -> np.ndarray:
    from skimage.segmentation import watershed

    return np.asarray(watershed(relief, seeds))  # type: ignore[no-untyped-call]


def _connected(labels: np.ndarray) -> np.ndarray:
    from skimage.measure import label

    return np.asarray(label(labels, connectivity=1))  # type: ignore[no-untyped-call]


def regions_of_levels(
    defocus_map: FloatArray,
    sharp: FloatArray,
    plateau: FloatArray,
    level: np.ndarray,
    parameters: SurfaceParameters,
) -> np.ndarray:
    """Connected regions (h, w), numbered from 0, none of them across two levels.

    ``plateau`` and ``level`` (h, w): where the map is flat, and the index of each pixel's level.
    """
    seeds = _seeds(plateau > 0, level, parameters.min_area * level.size)
    relief = edge_strength(defocus_map, sharp, parameters)
    check_cancelled()
    filled = _watershed(relief, seeds)
    check_cancelled()
    straight = _majority(filled, parameters.outline_px)
    return _without_specks(straight, relief, parameters.min_area * level.size)


def edge_strength(
    defocus_map: FloatArray, sharp: FloatArray, parameters: SurfaceParameters
) -> FloatArray:
    """Slopes of the sharp image and of the map (h, w): outlines lie where they are large."""
    relief = _slope(sharp) / max(float(sharp.mean()), 1e-6)
    return relief + parameters.map_edge_share * _slope(defocus_map)


def dissolved(regions: np.ndarray, dropped: list[int], relief: FloatArray) -> np.ndarray:
    """Regions (h, w) with some of them given to their neighbours, up to the strongest edges."""
    if not dropped:
        return regions
    kept = np.where(np.isin(regions, dropped), 0, regions + 1)
    return _watershed(relief, kept) - 1


def _seeds(plateau: np.ndarray, level: np.ndarray, min_px: float) -> np.ndarray:
    """Level + 1 on plateaus of some size, else 0; on all of them if none is large enough."""
    pieces = _connected(np.where(plateau, level + 1, 0))
    size = np.bincount(pieces.ravel())
    size[0] = 0
    kept = size >= min(min_px, size.max())
    return np.where(kept[pieces], level + 1, 0)


def _majority(labels: np.ndarray, sigma_px: float) -> np.ndarray:
    """The label (h, w) that prevails around each pixel, under a Gaussian."""
    most = np.full(labels.shape, -1.0, np.float32)
    winner = labels.copy()
    for number in np.unique(labels):
        votes = cv2.GaussianBlur((labels == number).astype(np.float32), (0, 0), sigma_px)
        winner[votes > most] = number
        most = np.maximum(most, votes)
        check_cancelled()
    return winner


def _without_specks(labels: np.ndarray, relief: FloatArray, min_px: float) -> np.ndarray:
    """Connected regions, with small ones given to their neighbours."""
    pieces = _connected(labels)
    size = np.bincount(pieces.ravel())
    size[0] = 0
    kept = size >= min(min_px, size.max())
    if not kept[1:].all():
        pieces = _watershed(relief, np.where(kept[pieces], pieces, 0))
    return np.unique(pieces, return_inverse=True)[1].reshape(labels.shape)


def _slope(values: FloatArray) -> FloatArray:
    along_x, along_y = (cv2.Sobel(values, cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1)))
    return np.asarray(np.hypot(along_x, along_y))


def distance_px(region: np.ndarray) -> FloatArray:
    """Distance of each pixel (h, w) from a region, 0 inside."""
    return np.asarray(cv2.distanceTransform((~region).astype(np.uint8), cv2.DIST_L2, 3))


def borders_between(regions: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Flat indices of the pixels along the border of each pair of adjacent regions."""
    index = np.arange(regions.size).reshape(regions.shape)
    found = []
    for here, there in (
        ((slice(None), slice(1, None)), (slice(None), slice(-1))),
        ((slice(1, None), slice(None)), (slice(-1), slice(None))),
    ):
        differs = regions[here] != regions[there]
        pair = np.sort(np.stack([regions[here][differs], regions[there][differs]]), axis=0)
        found.append(np.concatenate([pair, index[here][differs][None]]))
    pairs = np.concatenate(found, axis=1)
    order = np.lexsort(pairs[:2])
    pairs = pairs[:, order]
    starts = np.flatnonzero(np.any(np.diff(pairs[:2], axis=1, prepend=-1), axis=0))
    groups = np.split(pairs, starts[1:], axis=1) if pairs.size else []
    return {(int(group[0, 0]), int(group[1, 0])): group[2] for group in groups}
