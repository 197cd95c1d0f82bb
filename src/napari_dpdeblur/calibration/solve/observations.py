"""Gather what the kernels are computed from: sharp pattern, views, usable pixels."""

from __future__ import annotations

import cv2
import numpy as np
from scipy.spatial import cKDTree

from napari_dpdeblur.calibration.record import Field
from napari_dpdeblur.calibration.solve.radiometry import Screen
from napari_dpdeblur.calibration.solve.tile_observations import Render, TargetObservations, Warp
from napari_dpdeblur.calibration.target.detect import Detection
from napari_dpdeblur.calibration.target.disc_coverage import disc_coverage
from napari_dpdeblur.calibration.target.geometry import pixel_grid
from napari_dpdeblur.calibration.target.pattern import Target

# A disc darker than this share of neighbouring discs of its size is occluded.
HIDDEN_SHARE = 0.5
COMPARED_DISCS = 12


def central_field(frame_shape: tuple[int, int], share: float = 2 / 3) -> Field:
    """The central ``share`` of the frame's height and width, on even pixels."""
    height, width = (2 * round(side * share / 2) for side in frame_shape)
    return Field((frame_shape[0] - height) // 2, (frame_shape[1] - width) // 2, height, width)


def gather_observations(
    screen: Screen, detection: Detection, target: Target, field: Field, kernel_px: int
) -> tuple[TargetObservations, np.ndarray]:
    """Latent image, views and usable pixels of the field; and the occluded discs (N, 2).

    A pixel is usable if the whole support of the kernel around it is a visible part of the screen.
    """
    margin = kernel_px // 2
    shape = (field.height + 2 * margin, field.width + 2 * margin)
    top, left = field.top - margin, field.left - margin
    latent = disc_coverage(target, detection.geometry.to_screen, shape, top, left)
    seen = _on_screen(detection, target, shape, top, left)
    hidden = hidden_discs(screen, detection, target)
    _cover(seen, hidden, detection, target, (left, top))
    reach = np.ones((kernel_px, kernel_px), np.uint8)
    valid = cv2.erode(seen, reach)[margin:-margin, margin:-margin].astype(bool)
    usable = valid & (screen.lit & ~screen.saturated)[field.window]
    views = np.ascontiguousarray(screen.views[(slice(None), *field.window)])
    return TargetObservations(latent, views, usable, _renderer(detection, target, field)), hidden


def _renderer(detection: Detection, target: Target, field: Field) -> Render:
    """A function that renders windows of the latent image through a warp."""
    origin = np.array([field.left, field.top], float)

    def render(warp: Warp, shape: tuple[int, int], top: int, left: int) -> np.ndarray:
        def to_screen(camera: np.ndarray) -> np.ndarray:
            return detection.geometry.to_screen(warp(camera - origin) + origin)

        return disc_coverage(target, to_screen, shape, field.top + top, field.left + left)

    return render


def _on_screen(
    detection: Detection, target: Target, shape: tuple[int, int], top: int, left: int
) -> np.ndarray:
    points = detection.geometry.to_screen(pixel_grid(*shape, top, left))
    inside = (points > -0.5) & (points < np.array(target.screen_px) - 0.5)
    return np.asarray(inside.all(axis=-1), np.uint8)


def hidden_discs(screen: Screen, detection: Detection, target: Target) -> np.ndarray:
    """Columns and rows (N, 2) of discs inside the image that are too dark to be visible."""
    every = np.stack(np.meshgrid(np.arange(target.cols), np.arange(target.rows)), -1).reshape(-1, 2)
    camera = detection.geometry.to_camera(target.centres_px[every[:, 1], every[:, 0]])
    pixel = np.rint(camera).astype(np.intp)
    height, width = screen.lit.shape
    within = ((pixel > 2) & (pixel < [width - 3, height - 3])).all(axis=1)
    every, pixel = every[within], pixel[within]
    mean = cv2.blur(screen.views.mean(axis=0), (5, 5))
    light = mean[pixel[:, 1], pixel[:, 0]]
    large = target.code[every[:, 1], every[:, 0]]
    hidden = np.zeros(len(every), bool)
    for size in (False, True):
        same = np.flatnonzero(large == size)
        if len(same):
            count = min(COMPARED_DISCS, len(same))
            _, near = cKDTree(pixel[same]).query(pixel[same], k=count)
            usual = np.median(light[same][near.reshape(len(same), -1)], axis=1)
            hidden[same] = light[same] < HIDDEN_SHARE * usual
    return np.asarray(every[hidden])


def _cover(
    seen: np.ndarray,
    hidden: np.ndarray,
    detection: Detection,
    target: Target,
    origin: tuple[int, int],
) -> None:
    """Clear the cells of occluded discs in ``seen``, in place."""
    if len(hidden) == 0:
        return
    centres = detection.geometry.to_camera(target.centres_px[hidden[:, 1], hidden[:, 0]])
    for x, y in np.rint(centres - origin).astype(int):
        cv2.circle(seen, (int(x), int(y)), int(detection.pitch_px / 2), 0, -1)
