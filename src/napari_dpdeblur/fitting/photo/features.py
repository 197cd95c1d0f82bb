"""First alignment of a photo: features that agree on one perspective."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.array_types import AnyFloatArray, Float64Array
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters

BRIGHT_PERCENTILE = 99.0
CONTRAST_LIMIT, CONTRAST_TILES = 3.0, (8, 8)  # of the local equalisation
LEAST_STRETCH, MOST_STRETCH = 0.05, 20.0  # of the photo's scale within a picture
MOST_PERSPECTIVE = 3.0  # ratio of scales at two corners; more is no view of the same scene


@dataclass(frozen=True)
class Keypoints:
    """Features of a picture: positions (N, 2), x before y, in its own pixels, and descriptors."""

    positions: np.ndarray
    descriptors: np.ndarray


@dataclass(frozen=True)
class FeatureMatch:
    """Perspective from the capture to the photo (3, 3), and how many features agree on it."""

    homography: Float64Array | None
    matches: int


def find_keypoints(image: AnyFloatArray, parameters: RegistrationParameters) -> Keypoints:
    """SIFT features of a linear image (H, W), reduced to the working size."""
    factor = min(parameters.working_px / max(image.shape), 1.0)
    size = [max(round(side * factor), 1) for side in image.shape[::-1]]
    small = cv2.resize(np.asarray(image, np.float32), size, interpolation=cv2.INTER_AREA)
    found = cv2.SIFT.create(nfeatures=parameters.features, contrastThreshold=0.01)
    points, descriptors = found.detectAndCompute(displayed(np.asarray(small, np.float32)), None)
    check_cancelled()
    if descriptors is None:
        return Keypoints(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))
    scale = np.array(image.shape[::-1], np.float32) / np.array(size, np.float32)
    positions = (np.array([point.pt for point in points], np.float32) + 0.5) * scale - 0.5
    # Relative differences matter: the square root makes the usual distance compare shapes.
    shares = descriptors / np.maximum(np.abs(descriptors).sum(1, keepdims=True), 1e-6)
    return Keypoints(positions, np.sqrt(shares).astype(np.float32))


def displayed(linear: AnyFloatArray) -> np.ndarray:
    """A linear image as bytes with even local contrast, whatever its exposure."""
    white = max(float(np.percentile(linear, BRIGHT_PERCENTILE)), 1e-9)
    levels = np.round(255 * np.sqrt(np.clip(linear / white, 0, 1))).astype(np.uint8)
    equalised = cv2.createCLAHE(CONTRAST_LIMIT, CONTRAST_TILES).apply(levels)
    return np.asarray(equalised)


def match_features(
    reference: Keypoints,
    photo: Keypoints,
    reference_shape: tuple[int, int],
    parameters: RegistrationParameters,
) -> FeatureMatch:
    """The perspective that most features agree on; none if too few do, or if it is impossible."""
    pairs = _pairs(reference, photo, parameters.distinctness)
    if len(pairs) < parameters.least_matches:
        return FeatureMatch(None, 0)
    here, there = reference.positions[pairs[:, 0]], photo.positions[pairs[:, 1]]
    # The tolerance is in pixels of the reduced picture, the positions are in those of the photo.
    pixels = max(reference_shape) / parameters.working_px
    found, inside = cv2.findHomography(
        there, here, cv2.USAC_MAGSAC, parameters.tolerance_px * max(pixels, 1.0), maxIters=5000
    )
    matches = 0 if inside is None else int(inside.sum())
    if found is None or matches < parameters.least_matches or abs(np.linalg.det(found)) < 1e-12:
        return FeatureMatch(None, matches)
    homography = np.linalg.inv(found)
    homography /= homography[2, 2]
    return FeatureMatch(homography if _is_possible(homography, reference_shape) else None, matches)


def _pairs(reference: Keypoints, photo: Keypoints, distinctness: float) -> np.ndarray:
    """Indices (N, 2) of features that are each other's best and distinct partner."""
    if min(len(reference.positions), len(photo.positions)) < 2:
        return np.zeros((0, 2), int)
    products = reference.descriptors @ photo.descriptors.T
    best = products.argmax(1)
    rows = np.arange(len(best))
    nearest = products[rows, best].copy()
    is_mutual = products.argmax(0)[best] == rows
    products[rows, best] = -1
    second = products.max(1)
    # |a - b|^2 = 2 - 2 a b of unit vectors
    first_px, second_px = (np.sqrt(np.maximum(2 - 2 * p, 0)) for p in (nearest, second))
    good = is_mutual & (first_px < distinctness * second_px)
    return np.stack([rows[good], best[good]], axis=1)


def _is_possible(homography: Float64Array, shape: tuple[int, int]) -> bool:
    """Whether a perspective is neither mirrored nor folded nor extreme over the whole picture."""
    height, width = shape
    x, y = np.meshgrid(np.linspace(0, width, 5), np.linspace(0, height, 5))
    points = np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    depth = (homography @ points)[2]
    if depth.min() <= 0:
        return False
    # Determinant of the Jacobian of a perspective: area in the photo per area here.
    areas = np.linalg.det(homography) / depth**3
    if areas.min() <= 0:
        return False
    scales = np.sqrt(areas)
    is_scaled = scales.min() > LEAST_STRETCH and scales.max() < MOST_STRETCH
    return bool(is_scaled and scales.max() / scales.min() < MOST_PERSPECTIVE)
