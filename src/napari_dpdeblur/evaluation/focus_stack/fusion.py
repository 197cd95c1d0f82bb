"""Fuse a focus stack into an all-in-focus image and a defocus map with confidence.

The slices are focused from near to far, evenly in dioptres. An object that is blurred by d in a
capture focused like the first slice is sharp in the slice whose focus is d away, so the position of
the sharpest slice is the defocus, up to a factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.focus_stack.alignment import Breathing, find_breathing

MIN_SLICES = 3
DETAIL_SIGMA_PX = 1.0  # finer structure counts as detail
WINDOW_SIGMA_PX = 2.0  # over which the energy of detail is averaged
MIN_PROMINENCE = 3.0  # energy of the sharpest slice over that of the median one
MIN_SIGNAL = 4.0  # energy of detail over that of noise
STEP = 0.04  # share of the range; larger differences between neighbours separate two surfaces
STEP_REACH_PX = 7  # around such steps, where the blur of one surface occludes the other
FILL_SMOOTHNESS = 1.0
FILL_EDGE = 0.03
# Blurred occlusion boundaries look like a zoom of about a pixel at the corners.
NEGLIGIBLE_BREATHING_PX = 2.0
AGREEMENT = 0.03  # share of the range by which a pixel may differ from its surroundings


@dataclass(frozen=True)
class StackTruth:
    """``all_in_focus`` (C, H, W); ``defocus`` (H, W), 0 (first slice) to 1 (last slice).

    ``confidence`` (H, W) is 1 where the defocus was measured and 0 where it was filled in, in flat
    areas and around steps. ``breathing`` is None if the slices were not warped.
    """

    all_in_focus: FloatArray
    defocus: FloatArray
    confidence: FloatArray
    breathing: Breathing | None


def stack_truth(slices: FloatArray, align: bool = True) -> StackTruth:
    """All-in-focus image and defocus map of slices (S, C, H, W), focused from near to far.

    The result has the geometry of the first slice. ``align`` undoes focus breathing.
    """
    _check(slices)
    slices = np.asarray(slices, np.float32)
    breathing = find_breathing(slices) if align else None
    height, width = slices.shape[-2:]
    if breathing is not None:
        if breathing.corner_movement_px(height, width) < NEGLIGIBLE_BREATHING_PX:
            breathing = None
        else:
            slices = breathing.undone(slices)
    energy = detail_energy(slices)
    position, confidence = _sharpest(energy)
    filled = _filled(position, confidence, slices)
    defocus = np.asarray(filled / (len(slices) - 1), np.float32)
    agrees = np.abs(position - filled) < AGREEMENT * (len(slices) - 1)
    seen = confidence * _away_from_steps(defocus) * agrees
    image = _picked(slices, filled)
    return StackTruth(image, defocus, seen.astype(np.float32), breathing)


def _check(slices: FloatArray) -> None:
    if slices.ndim != 4 or len(slices) < MIN_SLICES:
        raise EvaluationError(
            f"A focus stack needs at least {MIN_SLICES} slices of equal size, but this one has "
            f"shape {slices.shape}; specify all slices from near to far."
        )
    if not np.isfinite(slices).all():
        raise EvaluationError("The focus stack has pixels that are not finite.")


def detail_energy(slices: FloatArray) -> FloatArray:
    """Local energy of fine detail in slices (S, C, H, W): (S, H, W)."""
    energies = []
    for images in slices:
        total = np.zeros(images.shape[-2:], np.float32)
        for image in images:
            detail = image - cv2.GaussianBlur(image, (0, 0), DETAIL_SIGMA_PX)
            total += cv2.GaussianBlur(np.square(detail), (0, 0), WINDOW_SIGMA_PX)
        energies.append(total)
    return np.stack(energies)


def _sharpest(energy: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sub-slice position of the sharpest slice, and 1 where it is distinct, else 0: (H, W).

    The energy of detail is bell-shaped around the focus, so its logarithm is a parabola.
    """
    noise = float(np.percentile(energy, 1))
    logs = np.log(energy + max(noise, 1e-12))
    # Slices adjacent to the sharpest one look the same, so the parabola uses farther ones.
    reach = max(1, round(len(logs) / 12))
    middle = np.clip(logs.argmax(axis=0), reach, len(logs) - 1 - reach)[np.newaxis]
    before, here, after = (
        np.take_along_axis(logs, middle + i * reach, axis=0)[0] for i in (-1, 0, 1)
    )
    curvature = np.maximum(2 * here - before - after, 1e-6)
    position = middle[0] + reach * np.clip(0.5 * (after - before) / curvature, -1, 1)
    peak, usual = energy.max(axis=0), np.median(energy, axis=0)
    clear = (peak > MIN_PROMINENCE * usual) & (peak > MIN_SIGNAL * noise)
    return np.asarray(position, np.float32), clear.astype(np.float32)


def _filled(position: FloatArray, confidence: FloatArray, slices: FloatArray) -> FloatArray:
    """Fill positions from confident pixels, edge-aware with a first sharp image."""
    from napari_dpdeblur.evaluation.baselines.edge_aware import edge_aware_fill

    guide = _picked(slices, position).mean(axis=0)
    guide *= 0.5 / max(float(guide.mean()), 1e-12)
    weight = np.maximum(confidence, 1e-3)
    filled = edge_aware_fill(position, weight, guide, FILL_SMOOTHNESS, FILL_EDGE)
    return np.clip(filled, 0, len(slices) - 1)


def _picked(slices: FloatArray, position: FloatArray) -> FloatArray:
    """Interpolate slices (S, C, H, W) at a position for each pixel (H, W)."""
    below = np.clip(np.floor(position).astype(np.intp), 0, len(slices) - 2)
    share = (position - below).astype(np.float32)
    index = below[np.newaxis, np.newaxis]
    first = np.take_along_axis(slices, index, axis=0)[0]
    second = np.take_along_axis(slices, index + 1, axis=0)[0]
    return np.asarray(first + share * (second - first), np.float32)


def _away_from_steps(defocus: FloatArray) -> FloatArray:
    """0 around steps from one surface to another, else 1."""
    window = np.ones((3, 3), np.uint8)
    spread = cv2.dilate(defocus, window) - cv2.erode(defocus, window)
    steps = (spread > STEP).astype(np.uint8)
    size = 2 * STEP_REACH_PX + 1
    reached = cv2.dilate(steps, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    return (1 - reached).astype(np.float32)
