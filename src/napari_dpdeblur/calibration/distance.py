"""Convert defocus scales to distances: d = A + B / Z with the lens constants A and B.

Z is the distance from the camera in metres. d is positive behind the focus plane and negative in
front of it: A > 0 is the scale at infinity, B < 0, and the focus plane lies at Z = -B / A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from napari_dpdeblur.calibration.file_format import MAX_CONSTANT
from napari_dpdeblur.calibration.record import Calibration
from napari_dpdeblur.calibration.sides import IN_FRONT, TARGET_SIDE, disparity_ratio
from napari_dpdeblur.errors import CalibrationError

MIN_RATIO = 1.02  # between the largest and the smallest distance
MIN_SCALE_CHANGE = 1e-3  # of the defocus between the distances: less is the same
POSSIBLE_M = (1e-3, 1e6)


def relative_scale(calibration: Calibration, base: Calibration) -> float:
    """Defocus scale of one calibration's target in multiples of the kernels of ``base``.

    Negative if the target was in front of the focus plane.
    """
    if (calibration.rows, calibration.cols) != (base.rows, base.cols):
        raise CalibrationError(
            f"The calibrations have {calibration.rows} x {calibration.cols} and {base.rows} x "
            f"{base.cols} tiles; use the same grid for both."
        )
    # A set from the front alone was turned, so that its kernels are those behind the focus plane.
    sign = -1.0 if calibration.source.get(TARGET_SIDE) == IN_FRONT else 1.0
    return sign * disparity_ratio(calibration.kernels, base.kernels)


def fit_lens_constants(
    distances_m: Sequence[float], scales: Sequence[float]
) -> tuple[float, float]:
    """Fit A and B to defocus scales at two or more known distances by least squares."""
    distance = np.asarray(distances_m, float)
    if len(distance) != len(scales) or not (distance > 0).all():
        raise CalibrationError("Each defocus scale needs a distance greater than 0 m.")
    for value in distances_m:
        check_possible(value)
    if len(distance) < 2 or distance.max() / distance.min() < MIN_RATIO:
        raise CalibrationError(
            "The lens constants need at least two different distances; capture the target at "
            "another distance with the same focus."
        )
    if max(scales) - min(scales) < MIN_SCALE_CHANGE:
        return checked_constants(float(scales[0]), 0.0)
    design = np.column_stack([np.ones_like(distance), 1 / distance])
    (a, b), *_ = np.linalg.lstsq(design, np.asarray(scales, float), rcond=None)
    return checked_constants(float(a), float(b))


def check_possible(distance_m: float) -> None:
    """Refuse a distance that no camera is focused at: it would only overflow."""
    nearest, farthest = POSSIBLE_M
    if not nearest <= distance_m <= farthest:
        raise CalibrationError(
            f"A distance of {distance_m:g} m is not possible; give it in metres, between "
            f"{nearest:g} and {farthest:,.0f}."
        )


def checked_constants(a: float, b: float) -> tuple[float, float]:
    """Return A and B if they are valid lens constants."""
    if not np.isfinite([a, b]).all():
        raise CalibrationError(
            f"The lens constants A = {a:g} and B = {b:g} must be finite numbers."
        )
    if max(abs(a), abs(b)) > MAX_CONSTANT:
        raise CalibrationError(
            f"The lens constants A = {a:g} and B = {b:g} are larger than {MAX_CONSTANT:g}; check "
            "their unit."
        )
    if abs(b) < 1 / MAX_CONSTANT:
        raise CalibrationError(
            "The lens constant B must not be 0 (defocus would not depend on distance); keep the "
            "focus locked while capturing."
        )
    return a, b


def with_lens_constants(
    base: Calibration, others: Sequence[tuple[float, Calibration]]
) -> Calibration:
    """``base`` with lens constants fitted to calibrations at known distances in metres."""
    scales = [relative_scale(calibration, base) for _, calibration in others]
    constants = fit_lens_constants([distance for distance, _ in others], scales)
    return replace(base, lens_constants=constants)


def distance_m(defocus_scale: np.ndarray | float, constants: tuple[float, float]) -> np.ndarray:
    """Distance Z = B / (d - A) of defocus scales (any shape); infinite where Z is not positive."""
    a, b = constants
    with np.errstate(divide="ignore"):
        z = b / (np.asarray(defocus_scale, float) - a)
    return np.asarray(np.where(z > 0, z, np.inf))
