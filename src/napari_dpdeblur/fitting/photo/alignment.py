"""Dense refinement: displacement of tiles, explained by lens distortion and parallax."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from napari_dpdeblur.array_types import AnyFloatArray, Float64Array, FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters

DEGREE = 3  # of the polynomial: radial distortion is of third degree
POLYNOMIAL_TERMS = (DEGREE + 1) * (DEGREE + 2) // 2
DETAIL_PX, SHADING_PX = 1.0, 8.0  # scales of the details that are compared
REWEIGHTINGS = 5
LEAST_TILES = 6  # centres along the shorter side
WORST_PX = 4.0  # a tile that is further off hardly counts
LEAST_STRUCTURE = 0.15  # of the mean structure of tiles: less is noise
RIDGE = 0.02  # of the structure of a tile, added to it
SEEN_POWER = 1e-4  # of details where there are any
TINY = 1e-12


@dataclass(frozen=True)
class Warp:
    """Position in the photo of each pixel of the capture: perspective, distortion, parallax.

    ``homography`` (3, 3) maps (x, y, 1) of the capture's frame, of ``shape``, to the photo;
    ``distortion`` (2, terms) is added to x and y there, ``parallax`` (2,) times the
    defocus is too: defocus, like parallax, is linear in the inverse distance.
    """

    homography: Float64Array
    shape: tuple[int, int]
    distortion: Float64Array
    parallax: Float64Array

    @classmethod
    def of(cls, homography: Float64Array, shape: tuple[int, int]) -> Warp:
        """A perspective alone."""
        return cls(homography, shape, np.zeros((2, POLYNOMIAL_TERMS)), np.zeros(2))

    def positions(
        self, x: AnyFloatArray, y: AnyFloatArray, defocus: AnyFloatArray | None = None
    ) -> tuple[Float64Array, Float64Array]:
        """Positions (x, y) in the photo of points of the frame, of any shape."""
        h = self.homography
        depth = h[2, 0] * x + h[2, 1] * y + h[2, 2]
        there_x = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / depth
        there_y = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / depth
        u, v = self._normalised(np.asarray(x, np.float64), np.asarray(y, np.float64))
        moved = []
        for start, polynomial, parallax in zip(
            (there_x, there_y), self.distortion, self.parallax, strict=True
        ):
            moved.append(start + _polynomial(polynomial, u, v))
            if defocus is not None and parallax:
                moved[-1] += parallax * defocus
        return moved[0], moved[1]

    def _normalised(self, x: Float64Array, y: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Positions in units of half the longer side, from the middle."""
        height, width = self.shape
        half = max(self.shape) / 2
        return (x - (width - 1) / 2) / half, (y - (height - 1) / 2) / half

    def design(
        self, x: Float64Array, y: Float64Array, defocus: Float64Array | None
    ) -> Float64Array:
        """Terms of distortion, and of parallax if the defocus is known: (points, terms)."""
        u, v = self._normalised(x, y)
        terms = [u**i * v**j for i, j in _powers()]
        if defocus is not None:
            terms.append(defocus)
        return np.stack(terms, axis=1)

    def moved(self, change: Float64Array) -> Warp:
        """With changes (terms, 2) of distortion and parallax added."""
        distortion = self.distortion + change[:POLYNOMIAL_TERMS].T
        parallax = self.parallax + change[POLYNOMIAL_TERMS:].sum(0)
        return replace(self, distortion=distortion, parallax=parallax)


def _powers() -> list[tuple[int, int]]:
    return [(n - j, j) for n in range(DEGREE + 1) for j in range(n + 1)]


def _polynomial(coefficients: Float64Array, u: Float64Array, v: Float64Array) -> Float64Array:
    """The polynomial at normalised positions, by Horner's scheme."""
    if not coefficients.any():
        return np.zeros_like(u)
    # As a polynomial in v whose coefficients are polynomials in u: powers of grids are slow.
    total = np.zeros_like(u)
    terms = dict(zip(_powers(), coefficients, strict=True))
    for j in range(DEGREE, -1, -1):
        row = np.zeros_like(u)
        for i in range(DEGREE - j, -1, -1):
            row = row * u + terms[i, j]
        total = total * v + row
    return total


@dataclass(frozen=True)
class Tiles:
    """What was measured in tiles: centres, displacement, correlation and weight, (N, ...).

    The correlation is NaN where there is nothing to see.
    """

    x: Float64Array
    y: Float64Array
    shift: Float64Array
    correlation: Float64Array
    weight: Float64Array


@dataclass(frozen=True)
class Alignment:
    """A refined warp, the correlation of details, and the displacement that is left, in px."""

    warp: Warp
    correlation: float
    residual_px: float


def refine(
    reference: FloatArray,
    photo: FloatArray,
    warp: Warp,
    parameters: RegistrationParameters,
    defocus_map: FloatArray | None = None,
    levels: int | None = None,
) -> Alignment:
    """Refine a warp until tiles of green of the photo (h, w) match the capture (H, W).

    With a defocus map (H, W) of the whole frame, parallax is found too.
    """
    count = parameters.levels if levels is None else levels
    finest = -(-max(reference.shape) // parameters.working_px)
    tile_px = min(parameters.tile_px, min(reference.shape) // finest // LEAST_TILES)
    parameters = parameters.model_copy(update={"tile_px": max(tile_px, 4)})
    found = Alignment(warp, 0.0, float("inf"))
    for level in range(count - 1, -1, -1):
        factor = finest * 2**level
        if level and min(reference.shape) // factor < LEAST_TILES * parameters.tile_px:
            continue
        here = _details(_reduced(reference, factor))
        there = _blurred_for(photo, factor)
        for _ in range(parameters.dense_steps):
            tiles = _measured(here, there, found.warp, factor, parameters, defocus_map)
            found = _explained(tiles, found.warp, parameters, defocus_map)
            check_cancelled()
    return found


def displacements(
    reference: FloatArray, other: FloatArray, parameters: RegistrationParameters
) -> tuple[Float64Array, ...]:
    """Displacement of tiles of an image of the same size: x, y, its two parts and a weight."""
    factor = -(-max(reference.shape) // parameters.working_px)
    shape = (reference.shape[0], reference.shape[1])
    still = Warp.of(np.eye(3), shape)
    here, there = _details(_reduced(reference, factor)), _blurred_for(other, factor)
    tiles = _measured(here, there, still, factor, parameters, None)
    return tiles.x, tiles.y, tiles.shift[:, 0], tiles.shift[:, 1], tiles.weight


def sampled(
    image: FloatArray, warp: Warp, box: tuple[int, int, int, int], defocus: FloatArray | None = None
) -> FloatArray:
    """The photo's plane (h, w) in a box (top, left, height, width) of the frame; NaN outside."""
    top, left, height, width = box
    y, x = np.mgrid[top : top + height, left : left + width]
    map_x, map_y = warp.positions(x, y, defocus)
    return _remap(image, map_x, map_y)


def _remap(image: FloatArray, map_x: Float64Array, map_y: Float64Array) -> FloatArray:
    warped = cv2.remap(
        image,
        map_x.astype(np.float32),
        map_y.astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=float("nan"),
    )
    return np.asarray(warped)


def _reduced(image: FloatArray, factor: int) -> FloatArray:
    if factor == 1:
        return image
    height, width = (side // factor for side in image.shape)
    inner = np.ascontiguousarray(image[: height * factor, : width * factor])
    return _reduced_to(inner, (width, height))


def _reduced_to(image: FloatArray, size: tuple[int, int]) -> FloatArray:
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.float32)


def _blurred_for(photo: FloatArray, factor: int) -> FloatArray:
    """The photo without details that the reduced capture does not have."""
    return photo if factor == 1 else np.asarray(cv2.GaussianBlur(photo, (0, 0), 0.4 * factor))


def _details(image: FloatArray) -> FloatArray:
    """Details of the logarithm of an image, in units of their local contrast."""
    missing = np.isnan(image)
    level = np.log(np.maximum(image, 0) + 0.05 * float(np.nanmean(image)) + 1e-9)
    level[missing] = float(np.median(level[~missing])) if not missing.all() else 0.0
    band = cv2.GaussianBlur(level, (0, 0), DETAIL_PX) - cv2.GaussianBlur(level, (0, 0), SHADING_PX)
    contrast = np.sqrt(cv2.GaussianBlur(band * band, (0, 0), 2 * SHADING_PX))
    details = band / (contrast + 0.25 * float(contrast.mean()) + 1e-9)
    details[cv2.dilate(missing.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0] = 0
    return np.asarray(details, np.float32)


def _measured(
    here: FloatArray,
    photo: FloatArray,
    warp: Warp,
    factor: int,
    parameters: RegistrationParameters,
    defocus_map: FloatArray | None,
) -> Tiles:
    """Displacement of tiles (Lucas and Kanade), in pixels of the photo."""
    height, width = here.shape
    rows, cols = np.mgrid[:height, :width]
    x, y = (cols + 0.5) * factor - 0.5, (rows + 0.5) * factor - 0.5
    defocus = None
    if defocus_map is not None:
        defocus = _reduced_to(defocus_map, (width, height))
    map_x, map_y = warp.positions(x, y, defocus)
    there = _details(_remap(photo, map_x, map_y))
    shift, correlation, weight = _tile_shifts(here, there, parameters.tile_px)
    return _in_photo((x, y, map_x, map_y), shift, correlation, weight, parameters.tile_px)


def _tile_shifts(
    here: FloatArray, there: FloatArray, radius: int
) -> tuple[tuple[Float64Array, Float64Array], Float64Array, Float64Array]:
    """Shift (x, y) of tiles of details that makes them match, their correlation and weight."""
    along_y, along_x = np.gradient(0.5 * (here + there))
    change = here - there
    slopes = (along_x * along_x, along_x * along_y, along_y * along_y)
    xx, xy, yy = _tile_means(slopes, radius)
    xt, yt = _tile_means((along_x * change, along_y * change), radius)
    both, ours, theirs = _tile_means((here * there, here * here, there * there), radius)
    trace = xx + yy
    least = 0.5 * (trace - np.sqrt(np.maximum(trace * trace - 4 * (xx * yy - xy * xy), 0)))
    xx, yy = (own + RIDGE * trace + TINY for own in (xx, yy))
    determinant = xx * yy - xy * xy
    shift = (yy * xt - xy * yt) / determinant, (xx * yt - xy * xt) / determinant
    correlation = both / np.sqrt(np.maximum(ours * theirs, TINY))
    is_seen = (np.minimum(ours, theirs) > SEEN_POWER) & (least > LEAST_STRUCTURE * least.mean())
    is_near = np.hypot(*shift) < WORST_PX
    weight = np.where(is_seen & is_near, np.clip(correlation, 0, 1) ** 2, 0)
    return shift, np.where(is_seen, correlation, np.nan), weight


def _tile_means(products: tuple[FloatArray, ...], radius: int) -> list[Float64Array]:
    """Means over tiles, at centres one radius apart."""
    window = (2 * radius + 1, 2 * radius + 1)
    means = (cv2.blur(p, window, borderType=cv2.BORDER_REFLECT) for p in products)
    return [mean[radius::radius, radius::radius].astype(np.float64) for mean in means]


def _in_photo(
    maps: tuple[Float64Array, Float64Array, Float64Array, Float64Array],
    shift: tuple[Float64Array, Float64Array],
    correlation: Float64Array,
    weight: Float64Array,
    radius: int,
) -> Tiles:
    """Shifts on the grid of the capture as shifts in the photo, by the local scale of the warp."""
    inside = (slice(radius, None, radius),) * 2
    x, y, map_x, map_y = maps
    x_per_row, x_per_col = np.asarray(np.gradient(map_x))[(slice(None), *inside)]
    y_per_row, y_per_col = np.asarray(np.gradient(map_y))[(slice(None), *inside)]
    moved_x = x_per_col * shift[0] + x_per_row * shift[1]
    moved_y = y_per_col * shift[0] + y_per_row * shift[1]
    return Tiles(
        x[inside].ravel(),
        y[inside].ravel(),
        np.stack([moved_x.ravel(), moved_y.ravel()], axis=1),
        correlation.ravel(),
        weight.ravel(),
    )


def _explained(
    tiles: Tiles,
    warp: Warp,
    parameters: RegistrationParameters,
    defocus_map: FloatArray | None,
) -> Alignment:
    """The warp that explains most displacements, those of other tiles counting less."""
    defocus = None
    if defocus_map is not None:
        rows, cols = (np.round(p).astype(int) for p in (tiles.y, tiles.x))
        defocus = defocus_map[rows, cols].astype(np.float64)
    terms = warp.design(tiles.x, tiles.y, defocus)
    total = tiles.weight.sum()
    if total <= 0 or (tiles.weight > 0).sum() < terms.shape[1]:
        return Alignment(warp, 0.0, float("inf"))
    stiff = parameters.stiffness * total * np.diag(_is_bent(terms.shape[1]))
    before = np.column_stack([warp.distortion, warp.parallax]).T[: terms.shape[1]]
    weight = tiles.weight
    left = tiles.shift
    for _ in range(REWEIGHTINGS):
        weighted = terms * weight[:, None]
        matrix = weighted.T @ terms + stiff + 1e-9 * total * np.eye(terms.shape[1])
        change = np.linalg.solve(matrix, weighted.T @ tiles.shift - stiff @ before)
        left = np.hypot(*(tiles.shift - terms @ change).T)
        typical = _weighted_median(left, tiles.weight)
        weight = tiles.weight / (1 + (left / (2 * typical + 0.05)) ** 2)
    # Of all tiles with structure, also of those that match nothing.
    correlation = float(np.nanmedian(tiles.correlation))
    scale = np.sqrt(abs(np.linalg.det(warp.homography[:2, :2])))
    return Alignment(warp.moved(change), correlation, float(typical / max(scale, 1e-9)))


def _is_bent(count: int) -> Float64Array:
    """1 for terms that bend straight lines, 0 for those of an affine map and of parallax."""
    bent = [float(i + j > 1) for i, j in _powers()]
    return np.array(bent + [0.0] * (count - len(bent)))


def _weighted_median(values: Float64Array, weights: Float64Array) -> float:
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, 0.5 * share[-1])])
