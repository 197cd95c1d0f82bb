"""Detect the calibration target in a capture: discs, identity, geometry, residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import cKDTree

from napari_dpdeblur.calibration.target.blobs import Blobs, find_blobs, is_cut_off, lattice_vectors
from napari_dpdeblur.calibration.target.geometry import ScreenGeometry, project
from napari_dpdeblur.calibration.target.lattice import Lattice, Match, grow_lattice, match_code
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.errors import CalibrationError

MIN_DISCS = 40
# Disc sizes must correlate with the pattern, and clearly better than at any other position.
MIN_SCORE, MIN_LEAD = 0.45, 0.2
MIN_AGREEMENT = 0.7  # share of matching sizes in each part of the image
AGREEMENT_PARTS, MIN_DISCS_IN_PART = 3, 12
RANSAC_TOLERANCE = 0.12  # of a pitch
MAX_RESIDUAL_RMS = 0.08  # of a pitch
RESIDUAL_SCALE_PX = 0.3
CLAIM_TOLERANCE = 0.2  # of a pitch


@dataclass(frozen=True, eq=False)
class Detection:
    """Detected discs and the geometry of the screen.

    ``centres`` (N, 2): camera pixels (x, y); ``disc`` (N, 2): column and row in the pattern;
    ``residuals`` (N, 2): centre minus prediction; ``score``: agreement of the sizes, -1 to 1.
    """

    geometry: ScreenGeometry
    centres: np.ndarray
    disc: np.ndarray
    residuals: np.ndarray
    pitch_px: float
    score: float
    runner_up: float
    expected: int

    @property
    def rms_px(self) -> float:
        """Root mean square distance between discs and their prediction."""
        return float(np.sqrt((self.residuals**2).sum(axis=1).mean()))

    def describe(self) -> dict[str, Any]:
        """Figures for the verdict as plain values, ready for JSON."""
        return {
            "discs_found": len(self.centres),
            "discs_expected": self.expected,
            "reprojection_rms_px": round(self.rms_px, 4),
            "reprojection_max_px": round(float(np.hypot(*self.residuals.T).max()), 4),
            "pitch_px": round(self.pitch_px, 2),
            "size_agreement": round(self.score, 3),
            "size_agreement_elsewhere": round(self.runner_up, 3),
            "radial_distortion": [round(float(k), 5) for k in self.geometry.radial],
        }


def detect_discs(picture: np.ndarray, target: Target, name: str = "The capture") -> Detection:
    """Detect ``target`` in an image (H, W) of square pixels: 0 = black screen, 1 = white screen.

    Raises CalibrationError if the pattern is not found or its discs cannot be identified. ``name``
    is used in messages.
    """
    picture = np.ascontiguousarray(picture, np.float32)
    blobs, lattice, pitch_px = _lattice(picture, name)
    match = match_code(lattice, blobs, target.code)
    _check_match(match, name)
    inside = _inside(match.disc, target)
    match, lattice = replace(match, disc=match.disc[inside]), _kept(lattice, inside)
    centres = blobs.centres[lattice.blob]
    geometry, good = fit_geometry(target, match.disc, centres, picture.shape, pitch_px)
    disc, chosen = _claim_all(geometry, target, blobs, pitch_px)
    geometry, good = fit_geometry(
        target, disc, blobs.centres[chosen], picture.shape, pitch_px, geometry
    )
    disc, chosen = disc[good], chosen[good]
    centres = blobs.centres[chosen]
    residuals = centres - geometry.to_camera(target.centres_px[disc[:, 1], disc[:, 0]])
    expected = _visible(geometry, target, picture.shape)
    found = Detection(
        geometry, centres, disc, residuals, pitch_px, match.score, match.runner_up, expected
    )
    _check_detection(found, blobs.light[chosen], target, name)
    return found


def _lattice(picture: np.ndarray, name: str) -> tuple[Blobs, Lattice, float]:
    steps = lattice_vectors(picture)
    if steps is None:
        raise _no_discs(picture, name)
    pitch_px = float(np.hypot(*steps.T).mean())
    blobs = find_blobs(picture, pitch_px)
    if len(blobs.centres) < MIN_DISCS:
        raise _no_discs(picture, name, len(blobs.centres))
    middle = np.median(blobs.centres, axis=0)
    lattice = grow_lattice(blobs.centres, steps, middle)
    if len(lattice.blob) < MIN_DISCS:
        raise _no_discs(picture, name, len(lattice.blob))
    return blobs, lattice, pitch_px


def _no_discs(picture: np.ndarray, name: str, count: int = 0) -> CalibrationError:
    if is_cut_off(picture):
        return CalibrationError(
            f"{name}: the pattern is cut off at every border, and fewer than {MIN_DISCS} whole "
            "discs are visible; move the camera away from the screen."
        )
    found = f"only {count} whole discs in a regular grid were" if count else "no discs were"
    return CalibrationError(
        f"{name}: {found} found, but at least {MIN_DISCS} are needed; show the pattern in full "
        "screen, fill the image with it, and keep the blurred discs from touching each other."
    )


def _check_match(match: Match, name: str) -> None:
    if match.score < MIN_SCORE or match.score - match.runner_up < MIN_LEAD:
        raise CalibrationError(
            f"{name}: a grid of discs was found, but their sizes do not match the pattern (score "
            f"{match.score:.2f}, second best {match.runner_up:.2f}); use the target.json of the "
            "pattern that was on the screen, and do not mirror it."
        )


def _inside(disc: np.ndarray, target: Target) -> np.ndarray:
    return np.asarray(((disc >= 0) & (disc < [target.cols, target.rows])).all(axis=1))


def _kept(lattice: Lattice, keep: np.ndarray) -> Lattice:
    return Lattice(lattice.index[keep], lattice.blob[keep])


def fit_geometry(
    target: Target,
    disc: np.ndarray,
    centres: np.ndarray,
    frame_shape: tuple[int, int],
    pitch_px: float,
    start: ScreenGeometry | None = None,
) -> tuple[ScreenGeometry, np.ndarray]:
    """Homography by RANSAC, then homography and distortion by robust least squares.

    Returns the geometry and which discs (N,) it explains.
    """
    screen = target.centres_px[disc[:, 1], disc[:, 0]]
    straight = centres if start is None else start.undistorted(centres)
    tolerance = RANSAC_TOLERANCE * pitch_px * (2.0 if start is None else 1.0)
    homography, mask = cv2.findHomography(screen, straight, cv2.RANSAC, tolerance)
    good = np.zeros(len(disc), bool) if mask is None else mask[:, 0].astype(bool)
    radial = (0.0, 0.0) if start is None else start.radial
    if homography is None or good.sum() < MIN_DISCS:
        return ScreenGeometry(np.eye(3), frame_shape, radial), good
    rough = ScreenGeometry(homography, frame_shape, radial)
    return _refined(rough, screen[good], centres[good]), good


def _refined(start: ScreenGeometry, screen: np.ndarray, camera: np.ndarray) -> ScreenGeometry:
    """Least squares over homography (8) and radial distortion (2), in camera pixels."""
    scale = np.abs(start.homography).ravel()[:8] + 1e-4

    def geometry(values: np.ndarray) -> ScreenGeometry:
        homography = np.append(values[:8] * scale, 1.0).reshape(3, 3)
        return ScreenGeometry(homography, start.frame_shape, (values[8], values[9]))

    def residual(values: np.ndarray) -> np.ndarray:
        guess = geometry(values)
        ideal = project(guess.homography, screen)
        return np.asarray((guess.undistorted(camera) - ideal).ravel())

    first = np.append(start.homography.ravel()[:8] / scale, start.radial)
    found = least_squares(residual, first, loss="soft_l1", f_scale=RESIDUAL_SCALE_PX)
    return geometry(found.x)


def _claim_all(
    geometry: ScreenGeometry, target: Target, blobs: Blobs, pitch_px: float
) -> tuple[np.ndarray, np.ndarray]:
    """Assign each disc the blob nearest to its predicted centre: discs (N, 2), blobs (N,)."""
    predicted = geometry.to_camera(target.centres_px.reshape(-1, 2))
    distance, blob = cKDTree(blobs.centres).query(predicted)
    near = np.flatnonzero(distance < CLAIM_TOLERANCE * pitch_px)
    row, col = np.divmod(near, target.cols)
    return np.stack([col, row], axis=1), blob[near]


def _visible(geometry: ScreenGeometry, target: Target, shape: tuple[int, ...]) -> int:
    """Number of discs of the pattern inside the image."""
    camera = geometry.to_camera(target.centres_px.reshape(-1, 2))
    return int(((camera > 0) & (camera < np.array(shape[::-1]))).all(axis=1).sum())


def is_cut_off_everywhere(
    detection: Detection, target: Target, frame_shape: tuple[int, int]
) -> bool:
    """Whether the screen extends beyond all four image borders."""
    height, width = frame_shape
    middles = [(0, height / 2), (width, height / 2), (width / 2, 0), (width / 2, height)]
    screen = detection.geometry.to_screen(np.array(middles, float))
    return bool(((screen > 0) & (screen < np.array(target.screen_px))).all())


def _check_detection(found: Detection, light: np.ndarray, target: Target, name: str) -> None:
    agreement = _worst_agreement(found, light, target)
    if len(found.centres) < MIN_DISCS or found.rms_px > MAX_RESIDUAL_RMS * found.pitch_px:
        raise CalibrationError(
            f"{name}: the discs do not lie on a plane (RMS deviation {found.rms_px:.1f} px over "
            f"{len(found.centres)} discs); use a flat screen and keep the camera still."
        )
    if agreement < MIN_AGREEMENT:
        raise CalibrationError(
            f"{name}: in part of the image only {100 * agreement:.0f} % of the discs have the "
            "expected size; remove obstructions in front of the screen and capture it again."
        )


def _worst_agreement(found: Detection, light: np.ndarray, target: Target) -> float:
    """Share of discs with the expected size, in the worst part of the image.

    Where a lattice has slipped by one disc, only half of the sizes match.
    """
    large = target.code[found.disc[:, 1], found.disc[:, 0]]
    tree = cKDTree(found.centres)
    _, near = tree.query(found.centres, k=min(25, len(large)))
    weight = large[near].mean(axis=1)
    size = np.sqrt(light)
    # Halfway between large and small neighbours.
    small_mean = _mean_where(size[near], ~large[near])
    large_mean = _mean_where(size[near], large[near])
    right = (size > (small_mean + large_mean) / 2) == large
    right |= (weight == 0) | (weight == 1)
    low, high = found.centres.min(axis=0), found.centres.max(axis=0) + 1e-6
    part = ((found.centres - low) / (high - low) * AGREEMENT_PARTS).astype(int)
    label = part[:, 1] * AGREEMENT_PARTS + part[:, 0]
    count = np.bincount(label, minlength=AGREEMENT_PARTS**2)
    hits = np.bincount(label, weights=right, minlength=AGREEMENT_PARTS**2)
    enough = count >= MIN_DISCS_IN_PART
    return float((hits[enough] / count[enough]).min()) if enough.any() else 0.0


def _mean_where(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.asarray((values * chosen).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1))
