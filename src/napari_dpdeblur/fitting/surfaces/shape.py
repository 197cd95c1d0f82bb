"""Shape of one surface in defocus: constant, slanted or curved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters

Shape = Literal["constant", "slanted", "curved"]
SHAPES: tuple[Shape, ...] = ("constant", "slanted", "curved")
TERMS: dict[Shape, int] = {"constant": 1, "slanted": 3, "curved": 6}


@dataclass(frozen=True)
class SurfaceFit:
    """Defocus of a surface as a polynomial of the position, and how far it is from the map.

    ``squares`` is the weighted sum of squared distances.
    """

    shape: Shape
    coefficients: np.ndarray
    squares: float

    @property
    def centre(self) -> float:
        """Defocus in the middle of the image; of a constant surface, everywhere."""
        return float(self.coefficients[0])

    def values(self, height: int, width: int) -> FloatArray:
        """The polynomial on the whole image: (h, w)."""
        size, count = (height, width), len(self.coefficients)
        terms = _terms(np.arange(height)[:, None], np.arange(width), size)[:count]
        values = sum(c * term for c, term in zip(self.coefficients, terms, strict=True))
        return np.array(np.broadcast_to(values, size), np.float32)


def fit_shape(
    defocus_map: FloatArray,
    weights: FloatArray,
    region: np.ndarray,
    parameters: SurfaceParameters,
    shapes: tuple[Shape, ...] = SHAPES,
) -> SurfaceFit:
    """The simplest of some shapes that explains the map (h, w) within a region."""
    inside = region & (weights > 0)
    inside = inside if inside.sum() >= TERMS["curved"] else region
    rows, cols = np.nonzero(inside)
    values = defocus_map[inside].astype(np.float64)
    weight = np.maximum(weights[inside].astype(np.float64), 1e-9)
    terms = np.stack(_terms(rows, cols, defocus_map.shape))
    fits = _least_squares(terms, values, weight)
    chosen = _simplest(fits, terms, parameters)
    chosen = chosen if chosen in shapes else shapes[-1]
    coefficients, squares = fits[chosen]
    return SurfaceFit(chosen, coefficients, squares)


def squares_within(errors: FloatArray, weights: FloatArray, region: np.ndarray) -> float:
    """Weighted sum of squares (h, w) within a region."""
    return float((weights[region] * errors[region].astype(np.float64) ** 2).sum())


def _simplest(
    fits: dict[Shape, tuple[np.ndarray, float]], terms: np.ndarray, parameters: SurfaceParameters
) -> Shape:
    spread = max(fits["constant"][1], 1e-12)
    plane, quadric = (1 - fits[name][1] / spread for name in ("slanted", "curved"))
    if quadric > max(plane + parameters.curve_gain, parameters.curve_r2):
        chosen: Shape = "curved"
    elif plane > parameters.slope_r2:
        chosen = "slanted"
    else:
        return "constant"
    fitted = fits[chosen][0] @ terms[: TERMS[chosen]]
    return chosen if np.ptp(fitted) > parameters.slope_range else "constant"


def _least_squares(
    terms: np.ndarray, values: np.ndarray, weight: np.ndarray
) -> dict[Shape, tuple[np.ndarray, float]]:
    """Coefficients of each shape and its weighted squares, from terms (6, pixels).

    By the normal equations, which all shapes share: with 6 terms between -1 and 1 they lose nothing
    that counts.
    """
    weighted = terms * weight
    matrix, right = weighted @ terms.T, weighted @ values
    fits: dict[Shape, tuple[np.ndarray, float]] = {}
    for name, count in TERMS.items():
        found = np.linalg.lstsq(matrix[:count, :count], right[:count], rcond=None)[0]
        error = values - found @ terms[:count]
        fits[name] = found, float(weight @ (error * error))
    return fits


def _terms(rows: np.ndarray, cols: np.ndarray, size: tuple[int, ...]) -> list[np.ndarray]:
    """The six monomials up to degree 2 of positions between -1 and 1."""
    y, x = 2 * rows / max(size[0] - 1, 1) - 1, 2 * cols / max(size[1] - 1, 1) - 1
    return [np.ones_like(y), y, x, y * y, x * y, x * x]


def smoothed_within(
    values: FloatArray, weights: FloatArray, region: np.ndarray, sigma_px: float
) -> FloatArray:
    """Weighted Gaussian mean (h, w) of the values inside a region only."""
    inside = (weights * region).astype(np.float32)
    total, share = (
        cv2.GaussianBlur(each, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT)
        for each in (values * inside, inside)
    )
    return np.asarray(total / np.maximum(share, 1e-9))
