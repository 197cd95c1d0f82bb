"""Defocus from the symmetry of a parametric dual-pixel kernel (Punnappurath et al. 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
import torch

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.evaluation.baselines.direction import moves_right_behind_focus
from napari_dpdeblur.evaluation.baselines.edge_aware import edge_aware_fill
from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.fitting.image.filters import GuidedFilter

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

REDUCTION = 2
PATCH_PX = 111
BORDER_PX = 25  # of a patch, where blur crosses its boundary
STRIDE_PX = 33
KERNEL_PX = 41
RADII_PX = np.arange(-19.5, 20.0, 0.5)
TRUST = 1e6  # confidence is exp(-TRUST cost)
LOWEST_CONFIDENCE = 1e-9
SMOOTHNESS = 128.0
EDGE = 0.06
GUIDED_RADIUS_PX = 10
GUIDED_EPSILON = 1e-6


def punnappurath(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
    """Find the signed kernel radius that best explains both views of each patch.

    Radii are positive behind the focus plane, so they increase with blur.
    """
    views = calibration.prepare(capture).mean(axis=1)
    height, width = views.shape[1:]
    size = (width // REDUCTION, height // REDUCTION)
    peak = max(float(views.max()), 1e-12)
    left, right = (cv2.resize(v / peak, size, interpolation=cv2.INTER_AREA) for v in views)
    guide = (left + right) / 2
    mirrored = not moves_right_behind_focus(calibration)
    radius, cost = best_radius(left, right, mirrored)
    target, lowest = (_from_patches(patches, guide.shape) for patches in (radius, cost))
    filled = edge_aware_fill(target, _confidence(guide, lowest), guide, SMOOTHNESS, EDGE)
    passes = GuidedFilter(torch.from_numpy(guide), GUIDED_RADIUS_PX, GUIDED_EPSILON)
    smooth = passes(torch.from_numpy(filled))
    resized = cv2.resize(smooth.numpy(), (width, height), interpolation=cv2.INTER_LINEAR)
    return Prediction(None, np.asarray(resized, np.float32))


def translating_disc(radius_px: float) -> FloatArray:
    """Kernel of one view: a disc whose brightness increases along x, (41, 41), sum 1/2.

    It is the disc times the sum of its translations to one side. A negative radius mirrors it.
    """
    offset = np.arange(KERNEL_PX) - KERNEL_PX // 2
    distance = np.hypot(offset[:, np.newaxis], offset)
    disc = np.clip(abs(radius_px) + 0.5 - distance, 0, 1)
    kernel = disc * disc.cumsum(axis=1)
    if radius_px < 0:
        kernel = kernel[:, ::-1]
    return np.asarray(0.5 * kernel / kernel.sum(), np.float32)


def best_radius(
    left: FloatArray, right: FloatArray, mirrored: bool
) -> tuple[FloatArray, FloatArray]:
    """Radius with the least mean (I_l * flip(h) - I_r * h)^2 of each patch, and that mean.

    ``mirrored`` flips the sign of the radius.
    """
    costs = np.stack([_patch_cost(left, right, r * (-1 if mirrored else 1)) for r in RADII_PX])
    best = costs.argmin(axis=0)
    return np.asarray(RADII_PX[best], np.float32), costs.min(axis=0)


def _patch_cost(left: FloatArray, right: FloatArray, radius_px: float) -> FloatArray:
    kernel = translating_disc(radius_px)
    difference = _convolved(left, kernel[:, ::-1]) - _convolved(right, kernel)
    inner_px = PATCH_PX - 2 * BORDER_PX
    means = cv2.blur(np.square(difference), (inner_px, inner_px), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(means[np.ix_(*(_centres(n) for n in means.shape))], np.float32)


def _convolved(image: FloatArray, kernel: FloatArray) -> FloatArray:
    # filter2D correlates: flipping the kernel makes it a convolution
    turned = np.ascontiguousarray(kernel[::-1, ::-1])
    return np.asarray(cv2.filter2D(image, -1, turned, borderType=cv2.BORDER_REPLICATE))


def _centres(length_px: int) -> np.ndarray:
    """Centres of the patches that cover one axis."""
    count = -(-length_px // STRIDE_PX)
    return np.minimum(np.arange(count) * STRIDE_PX + STRIDE_PX // 2, length_px - 1)


def _from_patches(patches: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Expand patch values to squares of one stride: (h, w)."""
    grown = patches.repeat(STRIDE_PX, axis=0).repeat(STRIDE_PX, axis=1)
    return grown[: shape[0], : shape[1]]


def _confidence(guide: FloatArray, cost: FloatArray) -> FloatArray:
    """exp(-1e6 cost) times the patch's mean Sobel magnitude, with a maximum of 1."""
    edges = np.abs(cv2.Sobel(guide, cv2.CV_32F, 1, 0))
    edges = cv2.blur(edges, (PATCH_PX, PATCH_PX), borderType=cv2.BORDER_REPLICATE)
    confidence = np.exp(-TRUST * cost) * edges
    confidence /= max(float(confidence.max()), 1e-30)
    return np.asarray(np.maximum(confidence, LOWEST_CONFIDENCE), np.float32)
