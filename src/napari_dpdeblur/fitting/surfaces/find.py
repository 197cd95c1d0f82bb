"""find_surfaces(): divide a defocus map into surfaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters
from napari_dpdeblur.fitting.surfaces.continuity import continued
from napari_dpdeblur.fitting.surfaces.levels import (
    find_levels,
    local_range,
    nearest_level,
    plateaus,
)
from napari_dpdeblur.fitting.surfaces.regions import (
    borders_between,
    dissolved,
    edge_strength,
    regions_of_levels,
)
from napari_dpdeblur.fitting.surfaces.shape import (
    SHAPES,
    Shape,
    SurfaceFit,
    fit_shape,
    smoothed_within,
    squares_within,
)

SLOPES: tuple[Shape, ...] = ("slanted", "curved")


@dataclass(frozen=True)
class Surface:
    """One surface: a region of the image with its own defocus.

    ``region`` (h, w) is where it is seen; ``defocus`` (h, w) is valid there and extends beyond;
    ``scale`` is its typical defocus, ``confidence`` the mean confidence of the map in the region.
    """

    region: np.ndarray
    defocus: FloatArray
    scale: float
    shape: Shape
    confidence: float

    @property
    def share(self) -> float:
        """Share of the image that it covers."""
        return float(self.region.mean())


def find_surfaces(
    defocus_map: FloatArray,
    confidence: FloatArray,
    sharp: FloatArray,
    parameters: SurfaceParameters,
) -> list[Surface]:
    """Surfaces of a scene, far to near, that cover the image without overlap.

    ``defocus_map``, ``confidence`` and ``sharp`` are (h, w) on one grid of square pixels.
    Plateaus of the map are clustered into levels, outlines follow the edges of the sharp image,
    and levels without a step between them are joined where one sloping surface explains them
    better than several flat ones.
    """
    plateau = plateaus(defocus_map, parameters)
    weights = plateau * (parameters.confidence_floor + confidence)
    level = nearest_level(defocus_map, find_levels(defocus_map, weights, parameters))
    regions = regions_of_levels(defocus_map, sharp, plateau, level, parameters)
    check_cancelled()
    joined = _joined(defocus_map, weights, regions, parameters)
    scales = _typical(defocus_map, weights, joined.regions)
    between = _transitions(joined.regions, scales, confidence, parameters)
    relief = edge_strength(defocus_map, sharp, parameters)
    regions = _without_islands(dissolved(joined.regions, between, relief), scales, parameters)
    check_cancelled()
    scales = _typical(defocus_map, weights, regions)
    beyond = continued(defocus_map, regions, scales, parameters)
    found = []
    for number in scales:
        region, shapes = regions == number, SLOPES if number in joined.slopes else SHAPES
        whole = np.isin(regions, [number, *beyond.get(number, ())])
        fit = fit_shape(defocus_map, weights, whole, parameters, shapes)
        defocus = _defocus(defocus_map, weights, whole, fit, parameters, number in beyond)
        trust = float(confidence[region].mean())
        found.append(Surface(region, defocus, float(np.median(defocus[region])), fit.shape, trust))
        check_cancelled()
    return sorted(found, key=lambda surface: -surface.scale)


def _defocus(
    defocus_map: FloatArray,
    weights: FloatArray,
    region: np.ndarray,
    fit: SurfaceFit,
    parameters: SurfaceParameters,
    keep_details: bool,
) -> FloatArray:
    """Defocus (h, w) of a surface: its shape, and details of the map that are not errors.

    ``keep_details``: all of them, for a region with those that it passes into without a step.
    """
    defocus, flat = fit.values(*defocus_map.shape), _weighted_median(defocus_map, weights, region)
    if fit.shape == "constant":
        defocus = np.full_like(defocus, flat)
    # Steps at the outline count only where nothing else does, slopes a little more.
    beyond = weights + (parameters.slope_weight if keep_details else 1e-4)
    detail = smoothed_within(defocus_map - defocus, beyond, region, parameters.detail_px)
    if fit.shape == "constant" and not keep_details:
        detail = _beyond_error(detail, parameters.flat_share * abs(flat))
    low, high = np.quantile(defocus_map[region], [0.01, 0.99])
    return np.asarray(np.clip(defocus + detail, low, high))


def _beyond_error(detail: FloatArray, error: float) -> FloatArray:
    """Deviations (h, w): none up to a possible error, all of those that are far larger."""
    return detail * np.maximum(1 - (error / np.maximum(np.abs(detail), 1e-9)) ** 2, 0)


def _weighted_median(values: FloatArray, weights: FloatArray, region: np.ndarray) -> float:
    inside, weight = values[region], np.maximum(weights[region], 1e-9)
    order = np.argsort(inside)
    total = np.cumsum(weight[order])
    return float(inside[order][np.searchsorted(total, total[-1] / 2)])


@dataclass(frozen=True)
class _Joined:
    """Regions (h, w) and the numbers of those that were joined from parts of one slope."""

    regions: np.ndarray
    slopes: set[int]


def _joined(
    defocus_map: FloatArray,
    weights: FloatArray,
    regions: np.ndarray,
    parameters: SurfaceParameters,
) -> _Joined:
    """Regions with those joined that are parts of one sloping surface."""
    masks = [regions == i for i in range(int(regions.max()) + 1)]
    flat = [fit_shape(defocus_map, weights, mask, parameters, ("constant",)) for mask in masks]
    owner = list(range(len(masks)))
    for first, second in _smooth_borders(defocus_map, regions, parameters):
        members = [i for i in range(len(owner)) if owner[i] in (owner[first], owner[second])]
        parts, fits = [masks[i] for i in members], [flat[i] for i in members]
        is_near = abs(flat[first].centre - flat[second].centre) < parameters.joined_step
        if (
            owner[first] != owner[second]
            and is_near
            and _is_one_surface(defocus_map, weights, parts, fits, parameters)
        ):
            joined = min(members)
            for i in members:
                owner[i] = joined
        check_cancelled()
    slopes = {number for number in owner if owner.count(number) > 1}
    return _Joined(np.asarray(owner)[regions], slopes)


def _smooth_borders(
    defocus_map: FloatArray, regions: np.ndarray, parameters: SurfaceParameters
) -> list[tuple[int, int]]:
    """Pairs of large regions without a step between them, longest borders first."""
    step = local_range(defocus_map, parameters.border_radius_px).ravel()
    borders = borders_between(regions)
    steps = {pair: float(np.median(step[pixels])) for pair, pixels in borders.items()}
    is_large = np.bincount(regions.ravel()) >= parameters.island_area * regions.size
    smooth = [p for p in borders if steps[p] < parameters.smooth_step and is_large[list(p)].all()]
    return sorted(smooth, key=lambda pair: -len(borders[pair]))


def _is_one_surface(
    defocus_map: FloatArray,
    weights: FloatArray,
    parts: list[np.ndarray],
    flat: list[SurfaceFit],
    parameters: SurfaceParameters,
) -> bool:
    """Whether one slope explains some regions better than a flat surface for each of them."""
    whole = np.logical_or.reduce(parts)
    slope = fit_shape(defocus_map, weights, whole, parameters, ("curved",)).values(*whole.shape)
    errors = [squares_within(defocus_map - slope, weights, part) for part in parts]
    each = parameters.joined_variance
    return sum(errors) < parameters.joined_total * sum(own.squares for own in flat) or all(
        error < each * own.squares for error, own in zip(errors, flat, strict=True)
    )


def _typical(defocus_map: FloatArray, weights: FloatArray, regions: np.ndarray) -> dict[int, float]:
    """Typical defocus of each region."""
    numbers = np.unique(regions).tolist()
    return {i: _weighted_median(defocus_map, weights, regions == i) for i in numbers}


def _transitions(
    regions: np.ndarray,
    scales: dict[int, float],
    confidence: FloatArray,
    parameters: SurfaceParameters,
) -> list[int]:
    """Small, uncertain regions between a nearer and a farther one: slopes of the map, no things."""
    found = []
    for number, beside in _neighbours(regions).items():
        region = regions == number
        step = [scales[i] - scales[number] for i in beside]
        if (
            region.mean() < parameters.transition_area
            and confidence[region].mean() < parameters.transition_confidence
            and min(step) < -parameters.transition_step
            and max(step) > parameters.transition_step
        ):
            found.append(number)
    return found


def _neighbours(regions: np.ndarray) -> dict[int, dict[int, int]]:
    """Length of the border with each neighbour, for each region."""
    beside: dict[int, dict[int, int]] = {}
    for (first, second), pixels in borders_between(regions).items():
        beside.setdefault(first, {})[second] = len(pixels)
        beside.setdefault(second, {})[first] = len(pixels)
    return beside


def _without_islands(
    regions: np.ndarray, scales: dict[int, float], parameters: SurfaceParameters
) -> np.ndarray:
    """Regions with small ones given to a neighbour of nearly the same defocus."""
    numbers, sizes = np.unique(regions, return_counts=True)
    neighbours = _neighbours(regions)
    owner = np.arange(int(regions.max()) + 1)
    for number, size in zip(numbers.tolist(), sizes, strict=True):
        beside = neighbours.get(number, {})
        near = [i for i in beside if abs(scales[i] - scales[number]) < parameters.island_step]
        if near and size < parameters.island_area * regions.size:
            owner[number] = max(near, key=lambda i: beside[i])
    for number in numbers[np.argsort(-sizes)]:  # islands of islands
        owner[number] = owner[owner[number]]
    return np.asarray(owner[regions])
