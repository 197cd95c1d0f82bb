"""Geometry of the screen in the image: screen pixels to camera pixels and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

INVERSE_ROUNDS = 8
MAX_RADIUS = 1.3  # in half diagonals


@dataclass(frozen=True, eq=False)
class ScreenGeometry:
    """A homography and a radial lens distortion around the centre of the frame.

    ``homography`` (3, 3) maps screen pixels (x, y) to pixels of a lens without distortion;
    ``radial`` (k1, k2) maps camera pixels there: p_u = c + (p - c) (1 + k1 r^2 + k2 r^4), r in
    half diagonals of the frame. Pixel centres are integers, camera pixels are square.
    """

    homography: np.ndarray
    frame_shape: tuple[int, int]
    radial: tuple[float, float] = (0.0, 0.0)

    @property
    def centre(self) -> np.ndarray:
        """Centre of the frame (x, y)."""
        height, width = self.frame_shape
        return np.array([(width - 1) / 2, (height - 1) / 2])

    @property
    def half_diagonal_px(self) -> float:
        """Unit of the radius in the distortion."""
        return float(np.hypot(*self.frame_shape) / 2)

    def undistorted(self, camera: np.ndarray) -> np.ndarray:
        """Camera pixels (..., 2) as a lens without distortion would see them."""
        offset = camera - self.centre
        r2 = square_length(offset) / self.half_diagonal_px**2
        r2 = np.minimum(r2, MAX_RADIUS**2)  # the polynomial is meaningless far outside the frame
        k1, k2 = self.radial
        return np.asarray(self.centre + offset * (1 + k1 * r2 + k2 * r2**2))

    def to_screen(self, camera: np.ndarray) -> np.ndarray:
        """Screen pixels (..., 2) that camera pixels (..., 2) look at."""
        return project(np.linalg.inv(self.homography), self.undistorted(camera))

    def to_camera(self, screen: np.ndarray) -> np.ndarray:
        """Camera pixels (..., 2) at which screen pixels (..., 2) appear."""
        ideal = project(self.homography, screen)
        camera = ideal
        for _ in range(INVERSE_ROUNDS):
            camera = camera + ideal - self.undistorted(camera)
        return np.asarray(camera)


def project(homography: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Apply a homography (3, 3) to points (..., 2)."""
    x, y = points[..., 0], points[..., 1]
    u, v, w = (row[0] * x + row[1] * y + row[2] for row in homography)
    return np.stack([u / w, v / w], axis=-1)


def square_length(offset: np.ndarray) -> np.ndarray:
    """x^2 + y^2 of vectors (..., 2) as (..., 1); numpy's sum over two numbers is slow."""
    x, y = offset[..., :1], offset[..., 1:]
    return np.asarray(x * x + y * y)


def pixel_grid(height: int, width: int, top: float = 0.0, left: float = 0.0) -> np.ndarray:
    """Positions (x, y) of all pixels of a window: (height, width, 2)."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    return np.stack([x + left, y + top], axis=-1)
