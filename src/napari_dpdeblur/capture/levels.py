"""sRGB transfer curve, and a check of the black level against the image."""

from __future__ import annotations

import numpy as np

DARKEST_PERCENT = 0.1
# Distance of the darkest values from the black level that triggers a warning, as a fraction of
# white. Read noise of one phone capture stays below it.
BLACK_TOLERANCE = 0.01


def srgb_to_linear(encoded: np.ndarray) -> np.ndarray:
    """Undo the sRGB transfer curve (IEC 61966-2-1) of values in 0..1; any shape."""
    toe = encoded / 12.92
    curve = ((np.maximum(encoded, 0.0) + 0.055) / 1.055) ** 2.4
    return np.where(encoded <= 0.04045, toe, curve).astype(np.float32)


def linear_to_srgb(linear: np.ndarray) -> np.ndarray:
    """Apply the sRGB transfer curve to linear values in 0..1; any shape."""
    curve = 1.055 * linear ** (1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, curve)


def darkest_level(raw: np.ndarray) -> float:
    """The 0.1 % percentile of the raw values."""
    if raw.dtype.kind != "u":
        return float(np.percentile(raw, DARKEST_PERCENT))
    # Counting takes a tenth of the time of sorting, and little memory.
    counts: np.ndarray = np.zeros(np.iinfo(raw.dtype).max + 1, np.int64)
    for row in raw.reshape(-1, raw.shape[-2] * raw.shape[-1]) if raw.ndim > 2 else (raw.ravel(),):
        counts += np.bincount(row, minlength=len(counts))
    place = DARKEST_PERCENT / 100 * (raw.size - 1)
    below, above = np.searchsorted(counts.cumsum(), [int(place), np.ceil(place)], side="right")
    return float(below + (above - below) * (place - int(place)))


def black_warning(darkest: float, black: float, white: float) -> str | None:
    """A warning if the darkest values contradict the black level, else None."""
    distance = (darkest - black) / white
    if distance < -BLACK_TOLERANCE:
        return (
            f"The darkest values reach {darkest:.0f}, below the black level of {black:.0f}, which "
            "may be too high; set it manually if shadows look clipped."
        )
    if distance > BLACK_TOLERANCE:
        return (
            f"The darkest values are {darkest:.0f}, above the black level of {black:.0f}, which "
            "may be too low, unless nothing in the scene is dark."
        )
    return None
