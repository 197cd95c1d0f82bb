"""Pose and lens distortion of a simulated camera in front of the screen, and its sharp image."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.calibration.target.geometry import pixel_grid, project, square_length
from napari_dpdeblur.calibration.target.pattern import PIXEL4_FOCAL_PX, Target

SUPERSAMPLING = 4
STRIP_ROWS = 128
EDGE_REACH = np.ones((3, 3), np.uint8)


@dataclass(frozen=True)
class Pose:
    """Pose of the camera relative to the screen.

    ``scale``: camera pixels per screen pixel in the centre; ``rotation_deg``: in the image plane;
    ``tilt_deg``: around the vertical and the horizontal axis of the screen; ``offset_px``: of the
    centre of the screen from the centre of the frame (x, y); ``distortion``: relative shift of
    the corners of the frame (negative: barrel).
    """

    scale: float = 1.05
    rotation_deg: float = 0.0
    tilt_deg: tuple[float, float] = (0.0, 0.0)
    offset_px: tuple[float, float] = (0.0, 0.0)
    distortion: float = 0.0
    focal_px: float = PIXEL4_FOCAL_PX

    def homography(self, screen_px: tuple[int, int], frame_shape: tuple[int, int]) -> np.ndarray:
        """Screen pixels to pixels of a lens without distortion (3, 3)."""
        yaw, pitch, roll = np.radians([*self.tilt_deg, self.rotation_deg])
        turn, _ = cv2.Rodrigues(np.array([0.0, 0.0, roll]))
        for axis, angle in (([1.0, 0, 0], pitch), ([0, 1.0, 0], yaw)):
            turn = turn @ cv2.Rodrigues(np.array(axis) * angle)[0]
        plane = turn[:, :2] * self.scale
        away = np.array([*self.offset_px, self.focal_px])
        centre = np.array([(screen_px[0] - 1) / 2, (screen_px[1] - 1) / 2])
        scene = np.column_stack([plane, away - plane @ centre])
        height, width = frame_shape
        lens = np.array(
            [[self.focal_px, 0, (width - 1) / 2], [0, self.focal_px, (height - 1) / 2], [0, 0, 1]]
        )
        matrix = lens @ scene
        return np.asarray(matrix / matrix[2, 2])

    def to_screen(
        self, camera: np.ndarray, screen_px: tuple[int, int], frame_shape: tuple[int, int]
    ) -> np.ndarray:
        """Screen pixels that camera pixels (..., 2) look at, through the lens distortion.

        Division model, p_u = c + (p - c) / (1 + distortion r^2): not the polynomial of the
        detection, so that the two do not share errors.
        """
        height, width = frame_shape
        centre = np.array([(width - 1) / 2, (height - 1) / 2])
        offset = camera - centre
        r2 = square_length(offset) / (np.hypot(*frame_shape) / 2) ** 2
        ideal = centre + offset / (1 + self.distortion * r2)
        return project(np.linalg.inv(self.homography(screen_px, frame_shape)), ideal)


def pattern_in_frame(
    target: Target, pose: Pose, frame_shape: tuple[int, int], hidden: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Coverage of each pixel by discs and by the screen for a perfect lens: float32 (H, W) each.

    ``hidden`` (rows, cols) bool: discs that are not shown. A pixel is the mean of 4 x 4 points.
    """
    coverage = np.zeros((2, *frame_shape), np.float32)
    for top in range(0, frame_shape[0], STRIP_ROWS):
        rows = slice(top, min(top + STRIP_ROWS, frame_shape[0]))
        # One extra row above and below, for edges between two strips.
        pixels = pixel_grid(rows.stop - top + 2, frame_shape[1], top - 1)
        lit = _lit(target, pose.to_screen(pixels, target.screen_px, frame_shape), hidden)
        mixed = _crossed(lit)[1:-1]
        fine = pixels[1:-1][mixed][:, None] + _subpixels()
        points = pose.to_screen(fine, target.screen_px, frame_shape)
        strip = coverage[:, rows]
        strip[:] = lit[:, 1:-1]
        strip[:, mixed] = _lit(target, points, hidden).mean(-1)
    return coverage[0], coverage[1]


def _crossed(lit: np.ndarray) -> np.ndarray:
    """Pixels (H, W) that differ from a neighbour in one of the images (2, H, W)."""
    changes = [cv2.dilate(m, EDGE_REACH) != cv2.erode(m, EDGE_REACH) for m in lit]
    return np.asarray(np.any(changes, axis=0))


def _subpixels() -> np.ndarray:
    """Offsets (n * n, 2) of the sample points inside a pixel."""
    step = (np.arange(SUPERSAMPLING) + 0.5) / SUPERSAMPLING - 0.5
    return np.stack(np.meshgrid(step, step), axis=-1).reshape(-1, 2)


def _lit(target: Target, points: np.ndarray, hidden: np.ndarray | None) -> np.ndarray:
    """Whether screen points (..., 2) lie on a disc, and on the screen: float32 (2, ...)."""
    on_screen = ((points > -0.5) & (points < np.array(target.screen_px) - 0.5)).all(-1)
    lit = (target.signed_distance_px(points) > 0) & on_screen
    if hidden is not None:
        lit &= ~hidden[target.nearest_disc(points)]
    return np.stack([lit, on_screen]).astype(np.float32)
