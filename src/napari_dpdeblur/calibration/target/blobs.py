"""Detect blurred discs in an image: lattice vectors, centres, sizes."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import fft, ndimage

# Range of pitches, in pixels.
MIN_PITCH_PX = 14.0
MAX_PITCH_SHARE = 1 / 6  # of the shorter side of the image
MIN_PEAK = 0.04  # of the variance of the image
MIN_RELATIVE_PEAK = 0.45
MIN_SINE = 0.6
# Widths in pitches.
SMOOTHING, SURROUNDINGS = 0.14, 0.5
REDUCED_PITCH_PX = 20.0  # blobs are smooth: a finer image adds nothing
MIN_AREA, MAX_AREA = 0.015, 0.7
MIN_CONTRAST = 0.25  # of the median blob
# Discs cut off by the borders: minimum count at each, distance, contrast to the gaps.
MIN_CUT_OFF, BORDER_SHARE, MIN_CUT_OFF_CONTRAST, CUT_OFF_SMOOTHING_PX = 2, 0.2, 0.25, 2.0
THRESHOLD_SHARE = 0.5  # of Otsu: the smallest discs are far below the mean of both classes


@dataclass(frozen=True, eq=False)
class Blobs:
    """``centres`` (N, 2) as (x, y), and ``light`` (N,), the brightness above the surroundings."""

    centres: np.ndarray
    light: np.ndarray


def lattice_vectors(picture: np.ndarray) -> np.ndarray | None:
    """Steps (2, 2), as (x, y), between neighbours of a lattice; None if there is no lattice.

    They are the two shortest independent shifts with a peak in the autocorrelation.
    """
    small = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    correlation = _autocorrelation(small)
    centre = np.array(correlation.shape) // 2
    highest = ndimage.maximum_filter(correlation, size=5) == correlation
    y, x = np.nonzero(highest & (correlation > MIN_PEAK))
    shifts = np.stack([x - centre[1], y - centre[0]], axis=1) * 2.0
    length = np.hypot(*shifts.T)
    inside = (length > MIN_PITCH_PX) & (length < MAX_PITCH_SHARE * min(picture.shape) * 1.5)
    if inside.sum() < 4:
        return None
    shifts, length, value = shifts[inside], length[inside], correlation[y, x][inside]
    strong = value > MIN_RELATIVE_PEAK * value.max()
    return _shortest_pair(shifts[strong][np.argsort(length[strong])])


def _shortest_pair(candidates: np.ndarray) -> np.ndarray | None:
    """The first step and the next independent one; candidates (N, 2) are sorted by length."""
    first = candidates[0]
    for second in candidates[1:]:
        sine = _cross(first, second) / (np.hypot(*first) * np.hypot(*second))
        if abs(sine) > MIN_SINE and np.hypot(*second) < 2 * np.hypot(*first):
            return _upright(first, second)
    return None


def _autocorrelation(picture: np.ndarray) -> np.ndarray:
    """Autocorrelation of the image, 1 at zero shift (in the centre)."""
    height, width = picture.shape
    window = np.outer(np.hanning(height), np.hanning(width)).astype(np.float32)
    box = 2 * round(min(picture.shape) * MAX_PITCH_SHARE / 2) + 1
    detail = picture - cv2.blur(picture, (box, box))
    spectrum = fft.rfft2(detail * window)
    correlation = fft.fftshift(fft.irfft2(np.abs(spectrum) ** 2, s=picture.shape))
    smooth = cv2.GaussianBlur(correlation, (0, 0), 1.0)
    return np.asarray(smooth / max(float(correlation.max()), 1e-20))


def _cross(a: np.ndarray, b: np.ndarray) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _upright(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Order and sign so that the first step points right and the second one down."""
    along, down = sorted((first, second), key=lambda step: abs(step[1]) / (abs(step[0]) + 1e-9))
    along = along if along[0] > 0 else -along
    down = down if _cross(along, down) > 0 else -down
    return np.stack([along, down])


def find_blobs(picture: np.ndarray, pitch_px: float) -> Blobs:
    """Bright blobs on the scale of a lattice with the given pitch, without those at the border.

    A difference of Gaussians is thresholded globally (Otsu).
    """
    factor = max(1, int(pitch_px // REDUCED_PITCH_PX))
    small = _reduced(picture, factor)
    found = _blobs(small, pitch_px / factor)
    return Blobs((found.centres + 0.5) * factor - 0.5, found.light)


def _reduced(picture: np.ndarray, factor: int) -> np.ndarray:
    """Means of ``factor`` x ``factor`` blocks; incomplete blocks are dropped."""
    height, width = (side // factor for side in picture.shape)
    whole = picture[: height * factor, : width * factor]
    return np.asarray(cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA))


def _blobs(picture: np.ndarray, pitch_px: float) -> Blobs:
    sharp = cv2.GaussianBlur(picture, (0, 0), SMOOTHING * pitch_px)
    response = sharp - cv2.GaussianBlur(picture, (0, 0), SURROUNDINGS * pitch_px)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(
        (response > _threshold(response)).astype(np.uint8), connectivity=4
    )
    area = stats[:, cv2.CC_STAT_AREA] / pitch_px**2
    left, top = stats[:, cv2.CC_STAT_LEFT], stats[:, cv2.CC_STAT_TOP]
    right, bottom = left + stats[:, cv2.CC_STAT_WIDTH], top + stats[:, cv2.CC_STAT_HEIGHT]
    whole = (left > 0) & (top > 0) & (right < picture.shape[1]) & (bottom < picture.shape[0])
    index = np.flatnonzero(whole & (area > MIN_AREA) & (area < MAX_AREA) & (np.arange(count) > 0))
    if len(index) == 0:
        return Blobs(np.empty((0, 2)), np.empty(0))
    y, x = np.nonzero(labels)
    label, value = labels[y, x], response[y, x]
    light, sum_x, sum_y = (np.bincount(label, value * w, count)[index] for w in (1.0, x, y))
    strong = light > MIN_CONTRAST * np.median(light)
    return Blobs((np.stack([sum_x, sum_y], axis=1) / light[:, None])[strong], light[strong])


def is_cut_off(picture: np.ndarray) -> bool:
    """Whether separate bright blobs touch each of the four borders, so the pattern is cut off."""
    smooth = cv2.GaussianBlur(picture, (0, 0), CUT_OFF_SMOOTHING_PX)
    dark, bright = np.percentile(smooth, [2, 98])
    if bright - dark < MIN_CUT_OFF_CONTRAST:
        return False
    _, labels = cv2.connectedComponents((smooth > (dark + bright) / 2).astype(np.uint8))
    rows, cols = (int(BORDER_SHARE * side) for side in labels.shape)
    strips = (labels[:rows], labels[-rows:], labels[:, :cols], labels[:, -cols:])
    found = [set(np.unique(strip).tolist()) - {0} for strip in strips]
    return min(len(labels_there) for labels_there in found) >= MIN_CUT_OFF


def _threshold(response: np.ndarray) -> float:
    low, high = np.percentile(response, [0.5, 99.5])
    scaled = np.clip((response - low) / max(high - low, 1e-12) * 255, 0, 255).astype(np.uint8)
    level, _ = cv2.threshold(scaled, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return THRESHOLD_SHARE * float(low + level / 255 * (high - low))
