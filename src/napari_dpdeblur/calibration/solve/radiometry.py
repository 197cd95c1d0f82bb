"""Normalise captures of the screen: 0 = black screen, 1 = white screen, in every pixel.

On this scale the latent image M I_white + (1 - M) I_black of the paper is M itself, and vignetting
does not look like a kernel whose sum is below 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError

SMOOTHING_PX = 6.0
MIN_CONTRAST = 0.02  # white minus black screen at its brightest, in units of white
LIT_SHARE = 0.15  # of the brightest: a pixel sees the screen
SATURATED = 0.98
MAX_SATURATED = 0.002


@dataclass(frozen=True, eq=False)
class Screen:
    """A capture of the discs, normalised to the black and the white screen.

    ``views`` (2, H, W) float32; ``lit`` (H, W): pixels that see the screen; ``saturated`` (H, W):
    overexposed pixels; ``contrast``: white minus black screen, in units of white;
    ``row_upsampling``: how many rows were interpolated from one.
    """

    views: np.ndarray
    lit: np.ndarray
    saturated: np.ndarray
    contrast: float
    row_upsampling: int = 1


def screen_views(
    discs: DualPixelCapture, white: DualPixelCapture, black: DualPixelCapture
) -> Screen:
    """Normalise a capture of the discs by captures of the white and the black screen."""
    for other, word in ((white, "white"), (black, "black")):
        _check_same_camera(discs, other, word)
    _check_white(white)
    bright, dark = (_smooth(linear_views(capture)) for capture in (white, black))
    contrast = float(np.percentile(bright - dark, 99))
    if contrast < 0 or bright.mean() < dark.mean():
        raise CalibrationError(
            f"The white screen {white.name} is darker than the black screen {black.name}; the two "
            "seem to be swapped."
        )
    if contrast < MIN_CONTRAST:
        raise CalibrationError(
            f"The white screen {white.name} is hardly brighter than the black screen "
            f"{black.name} (difference {100 * contrast:.1f} % of white); increase the screen "
            "brightness or the exposure time."
        )
    span = bright - dark
    lit = (span > LIT_SHARE * _local_peak(span)).all(axis=0)
    views = np.where(lit, (linear_views(discs) - dark) / np.maximum(span, 1e-6), 0.0)
    square = discs.with_square_pixels()
    saturated = np.asarray((square.raw >= SATURATED * square.white).any(axis=(0, 1)))
    return Screen(views.astype(np.float32), lit, saturated, contrast, square.row_upsampling)


def _local_peak(span: np.ndarray) -> np.ndarray:
    """Peak contrast of each view: (2, 1, 1)."""
    return np.asarray(np.percentile(span, 99, axis=(1, 2), keepdims=True))


def linear_views(capture: DualPixelCapture) -> np.ndarray:
    """Linear values (2, H, W) on square pixels; not clipped at black, so noise is unbiased."""
    square = capture.with_square_pixels()
    if square.encoding != "linear":
        return np.asarray(square.views.mean(axis=1))
    return np.asarray((square.raw.mean(axis=1) - square.black) / square.white, np.float32)


def _smooth(views: np.ndarray) -> np.ndarray:
    return np.stack([cv2.GaussianBlur(v, (0, 0), SMOOTHING_PX) for v in views])


def _check_same_camera(discs: DualPixelCapture, other: DualPixelCapture, word: str) -> None:
    if discs.shape != other.shape or discs.pixel_aspect != other.pixel_aspect:
        raise CalibrationError(
            f"The {word} screen {other.name} ({other.shape[3]} x {other.shape[2]} px) and the "
            f"discs {discs.name} ({discs.shape[3]} x {discs.shape[2]} px) have different sizes; "
            "use the same camera and settings for all."
        )


def _check_white(white: DualPixelCapture) -> None:
    share = float((white.raw >= SATURATED * white.white).mean())
    if share > MAX_SATURATED:
        raise CalibrationError(
            f"The white screen {white.name} is saturated in {100 * share:.1f} % of its pixels; "
            "reduce the exposure time or the screen brightness, and capture the discs and the "
            "black screen again with the same exposure."
        )
