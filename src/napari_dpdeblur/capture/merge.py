"""Merge several captures of a static scene into one with less noise.

Both views of a capture are warped alike, so the disparity between them is preserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.errors import CaptureError

# Minimum correlation of aligned captures of the same scene.
MIN_CORRELATION = 0.5
MAX_SHIFT = 0.1  # as a fraction of the frame
MAX_GUIDE_PX = 1024
DETAIL_SIGMA_PX = 24.0
ECC_SMOOTHING_PX = 5
ECC_CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 100, 1e-6)
CLIP_SIGMAS = 4.0
NOISE_WINDOW_PX = 15
MAD_TO_SIGMA = 1.4826  # median absolute deviation to standard deviation of normal noise


def merge_captures(captures: Sequence[DualPixelCapture], align: bool = True) -> DualPixelCapture:
    """Align captures of a static scene to the first one and average them robustly.

    The result has float32 ``raw`` with the levels of the captures, and lists all files.
    ``align=False`` is for captures without structure, such as white sheets.
    """
    if not captures:
        raise CaptureError("No captures to merge; at least one is required.")
    first = captures[0]
    for other in captures[1:]:
        _check_same_kind(first, other)
    if len(captures) == 1:
        return first
    warps = [np.eye(2, 3)] + [_warp_to(first, c) if align else np.eye(2, 3) for c in captures[1:]]
    planes = [_robust_plane(captures, warps, v, c) for v, c in np.ndindex(first.shape[:2])]
    return replace(
        first,
        raw=np.stack(planes).reshape(first.shape),
        name=f"{first.name}_mean_of_{len(captures)}",
        source=_joint_source(captures),
        invalid=_joint_invalid(captures, warps),
    )


def _check_same_kind(first: DualPixelCapture, other: DualPixelCapture) -> None:
    def kind(capture: DualPixelCapture) -> tuple[object, ...]:
        levels = (capture.black, capture.white, capture.encoding)
        return (*capture.shape, *levels, capture.pixel_aspect, capture.orientation)

    if kind(first) != kind(other):
        raise CaptureError(
            f"{other.name} cannot be merged with {first.name}: size, levels, pixel aspect and "
            f"orientation must be equal, but are {kind(other)} and {kind(first)}."
        )


def _joint_source(captures: Sequence[DualPixelCapture]) -> Source:
    return Source(
        format=captures[0].source.format,
        files=tuple(file for c in captures for file in c.source.files),
        sha256=tuple(digest for c in captures for digest in c.source.sha256),
    )


def _warp_to(first: DualPixelCapture, other: DualPixelCapture) -> np.ndarray:
    """Rigid motion from pixels of ``first`` to pixels of ``other``, as an affine map (2, 3)."""
    target, moving = _guide(first), _guide(other)
    everywhere = np.ones(moving.shape, np.uint8)
    start = np.eye(2, 3, dtype=np.float32)
    start[:, 2] = cv2.phaseCorrelate(target, moving, _window(target))[0]
    try:
        correlation, rigid = cv2.findTransformECC(
            target, moving, start, cv2.MOTION_EUCLIDEAN, ECC_CRITERIA, everywhere, ECC_SMOOTHING_PX
        )
    except cv2.error:
        raise _alignment_error(first, other, "no match was found") from None
    if correlation < MIN_CORRELATION:
        raise _alignment_error(first, other, f"their correlation is only {correlation:.2f}")
    if (np.abs(rigid[:, 2]) > MAX_SHIFT * np.array(target.shape[::-1])).any():
        raise _alignment_error(first, other, "they are shifted by more than a tenth of the frame")
    return _in_capture_pixels(rigid, first, target.shape)


def _alignment_error(first: DualPixelCapture, other: DualPixelCapture, reason: str) -> CaptureError:
    file = other.source.files[0] if other.source.files else other.name
    return CaptureError(
        f"{file} cannot be aligned with {first.name}: {reason}; leave it out, or merge only "
        "captures of the same static scene."
    )


def _guide(capture: DualPixelCapture) -> np.ndarray:
    """High-pass filtered mean of both views on square pixels, at most 1024 px wide: float32.

    Low frequencies are removed because vignetting does not move with the scene.
    """
    mean = capture.views.mean(axis=(0, 1), dtype=np.float32)
    height, width = mean.shape
    scale = min(1.0, 1.0 / capture.pixel_aspect, MAX_GUIDE_PX / width)
    size = (round(width * scale), round(height * scale * capture.pixel_aspect))
    small = cv2.resize(mean, size, interpolation=cv2.INTER_AREA)
    detail = small - cv2.GaussianBlur(small, (0, 0), DETAIL_SIGMA_PX)
    return np.asarray(detail, np.float32)


def _window(guide: np.ndarray) -> np.ndarray:
    height, width = guide.shape
    return np.asarray(cv2.createHanningWindow((width, height), cv2.CV_32F))


def _in_capture_pixels(
    rigid: np.ndarray, capture: DualPixelCapture, guide_shape: tuple[int, ...]
) -> np.ndarray:
    """Convert a map between guides to pixels of the captures: S^-1 M S."""
    scale_x = guide_shape[1] / capture.shape[3]
    scale_y = guide_shape[0] / capture.shape[2]
    to_guide = np.array(
        [[scale_x, 0, (scale_x - 1) / 2], [0, scale_y, (scale_y - 1) / 2], [0, 0, 1]]
    )
    motion = np.vstack([rigid.astype(np.float64), [0, 0, 1]])
    return np.asarray((np.linalg.inv(to_guide) @ motion @ to_guide)[:2])


def _moved(plane: np.ndarray, warp: np.ndarray) -> np.ndarray:
    """Sample a plane (H, W) at the warped positions; NaN outside."""
    values = plane.astype(np.float32)
    if np.array_equal(warp, np.eye(2, 3)):
        return values
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(
        values, warp, values.shape[::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE
    )
    inside = cv2.warpAffine(np.ones_like(values), warp, values.shape[::-1], flags=flags)
    return np.where(inside > 0.999, moved, np.float32(np.nan))


def _robust_plane(
    captures: Sequence[DualPixelCapture], warps: Sequence[np.ndarray], view: int, channel: int
) -> np.ndarray:
    stack = np.stack(
        [_moved(c.raw[view, channel], w) for c, w in zip(captures, warps, strict=True)]
    )
    return _clipped_mean(stack)


def _clipped_mean(stack: np.ndarray) -> np.ndarray:
    """Mean over captures (N, H, W) of the values near their median, float32 (H, W).

    The noise is estimated from the neighbourhood, because there are too few values per pixel.
    """
    if len(stack) < 3:
        return np.asarray(np.nanmean(stack, axis=0), np.float32)
    median = _median(stack)
    distance = np.abs(stack - median)
    spread = _median(distance).astype(np.float32)
    noise = MAD_TO_SIGMA * cv2.blur(spread, (NOISE_WINDOW_PX, NOISE_WINDOW_PX))
    good = distance <= np.maximum(CLIP_SIGMAS * noise, 1.0)
    total, count = np.where(good, stack, 0.0).sum(axis=0), good.sum(axis=0)
    # Two contradicting values are both far from their median.
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), median), np.float32)


def _median(stack: np.ndarray) -> np.ndarray:
    """Median over the first axis, ignoring NaN; several times faster than nanmedian."""
    ranked = np.sort(stack, axis=0)  # NaN comes last
    count = np.isfinite(stack).sum(axis=0, keepdims=True)
    middle = [np.take_along_axis(ranked, (count - 1 + i) // 2, axis=0)[0] for i in (0, 1)]
    return np.asarray((middle[0] + middle[1]) / 2)


def _joint_invalid(
    captures: Sequence[DualPixelCapture], warps: Sequence[np.ndarray]
) -> np.ndarray | None:
    """A pixel that is invalid in one capture is invalid in the mean."""
    masks = [
        np.nan_to_num(_moved(c.invalid, w)) > 0.01
        for c, w in zip(captures, warps, strict=True)
        if c.invalid is not None
    ]
    return np.logical_or.reduce(masks) if masks else None
