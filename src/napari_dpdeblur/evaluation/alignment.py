"""Affine alignment of a result with its ground truth.

A deblurring method may shift the image by the common offset of the blur kernels, and the ground
truth was captured with another focus setting. Images are therefore aligned by an affine transform
that maximises the enhanced correlation coefficient (ECC).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import AnyFloatArray

# From weak to strong smoothing, which widens the basin of convergence.
GAUSSIAN_SIZES_PX = (5, 15)
MAX_ITERATIONS = 100
MIN_INCREMENT = 1e-6
# Refocusing moves image corners by a few pixels; larger shifts are false matches.
MAX_SHIFT_FRACTION = 0.03
MIN_SHIFT_LIMIT_PX = 16.0


@dataclass(frozen=True)
class Alignment:
    """Affine map from ground-truth to result pixel coordinates, (2, 3), on (x, y, 1)."""

    matrix: AnyFloatArray
    correlation: float | None = None
    warning: str | None = None

    @classmethod
    def identity(cls, warning: str | None = None) -> Alignment:
        """The identity; `warning` says why the alignment failed."""
        return cls(np.eye(2, 3), None, warning)

    def apply(self, image: AnyFloatArray) -> AnyFloatArray:
        """Resample `image` (C, H, W) on the pixel grid of the ground truth, replicating borders."""
        if np.array_equal(self.matrix, np.eye(2, 3)):
            return image
        size = (image.shape[2], image.shape[1])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        channels = [
            cv2.warpAffine(channel, self.matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
            for channel in image.astype(np.float32)
        ]
        return np.stack(channels)

    def corner_shift_px(self, height: int, width: int) -> float:
        """Largest shift of an image corner."""
        x, y = width - 1.0, height - 1.0
        corners = np.array([[0, 0, 1], [x, 0, 1], [0, y, 1], [x, y, 1]])
        moved = corners @ np.asarray(self.matrix, dtype=np.float64).T
        return float(np.hypot(*(moved - corners[:, :2]).T).max())


def align_affine(result: AnyFloatArray, truth: AnyFloatArray) -> Alignment:
    """Find the affine transform that aligns `result` (C, H, W) with `truth` (C, H, W).

    If the alignment fails, the result is the identity with a warning.
    """
    moving, reference = _normalised(result), _normalised(truth)
    if moving is None or reference is None:
        return Alignment.identity("The images were not aligned because one of them is constant.")
    limit_px = max(MIN_SHIFT_LIMIT_PX, MAX_SHIFT_FRACTION * max(reference.shape))
    for size_px in GAUSSIAN_SIZES_PX:
        found = _maximise_correlation(moving, reference, size_px)
        if found is not None and found.corner_shift_px(*reference.shape) <= limit_px:
            return found
    return Alignment.identity(
        "The images were not aligned because the alignment did not converge to a small shift."
    )


def _normalised(image: AnyFloatArray) -> npt.NDArray[np.float32] | None:
    """Mean over channels, normalised to zero mean and unit variance."""
    gray = np.asarray(image, dtype=np.float64).mean(axis=0)
    spread = float(gray.std())
    if spread <= 1e-9 * max(1e-30, float(np.abs(gray).max())):
        return None
    return np.asarray((gray - gray.mean()) / spread, dtype=np.float32)


def _maximise_correlation(
    moving: npt.NDArray[np.float32], reference: npt.NDArray[np.float32], gaussian_size_px: int
) -> Alignment | None:
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, MAX_ITERATIONS, MIN_INCREMENT)
    start = np.eye(2, 3, dtype=np.float32)
    mask = np.full(moving.shape, 255, dtype=np.uint8)
    try:
        correlation, matrix = cv2.findTransformECC(
            reference, moving, start, cv2.MOTION_AFFINE, criteria, mask, gaussian_size_px
        )
    except cv2.error:
        return None
    if not (np.isfinite(matrix).all() and np.isfinite(correlation)):
        return None
    return Alignment(np.asarray(matrix, dtype=np.float64), float(correlation))
