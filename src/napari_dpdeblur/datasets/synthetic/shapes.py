"""Shapes and textures of synthetic scenes as functions of a coordinate grid."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

# Linear RGB.
PALETTE = np.array(
    [
        [0.62, 0.21, 0.05],  # orange
        [0.03, 0.20, 0.22],  # petrol
        [0.60, 0.40, 0.06],  # mustard
        [0.42, 0.06, 0.05],  # brick
        [0.10, 0.26, 0.08],  # leaf
        [0.06, 0.09, 0.28],  # ink
        [0.70, 0.60, 0.44],  # cream
        [0.36, 0.12, 0.24],  # plum
    ]
)
CREAM = PALETTE[6]
INK = np.array([0.02, 0.025, 0.04])


@dataclass(frozen=True)
class Grid:
    """Coordinates of the pixel centres; the shorter side of the picture runs from -0.5 to 0.5."""

    y: np.ndarray  # (H, W)
    x: np.ndarray
    px: float  # size of a pixel

    @classmethod
    def of(cls, height: int, width: int) -> Grid:
        """The grid of an image of this size."""
        px = 1.0 / min(height, width)
        y = (np.arange(height) + 0.5 - height / 2) * px
        x = (np.arange(width) + 0.5 - width / 2) * px
        rows, cols = np.meshgrid(y, x, indexing="ij")
        return cls(rows, cols, px)

    def local(
        self, centre_y: float, centre_x: float, angle: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (v, u) of an object that is turned by ``angle``."""
        v, u = self.y - centre_y, self.x - centre_x
        return np.cos(angle) * v - np.sin(angle) * u, np.sin(angle) * v + np.cos(angle) * u

    def mask(self, distance: np.ndarray) -> np.ndarray:
        """Coverage of pixels by a shape whose signed distance is negative inside."""
        return np.clip(0.5 - distance / self.px, 0.0, 1.0)

    def bands(self, phase: np.ndarray, period: float) -> np.ndarray:
        """Stripes between 0 and 1 with anti-aliased edges; ``phase`` in units of length."""
        folded = np.abs(((phase / period) % 1.0) - 0.5) - 0.25
        return np.asarray(np.clip(0.5 - folded * period / self.px, 0.0, 1.0))


def disc(v: np.ndarray, u: np.ndarray, radius: float) -> np.ndarray:
    """Signed distance to a disc."""
    return np.asarray(np.hypot(v, u) - radius)


def box(v: np.ndarray, u: np.ndarray, half_height: float, half_width: float) -> np.ndarray:
    """Signed distance to a rectangle with slightly rounded corners."""
    corner = 0.15 * min(half_height, half_width)
    dv, du = np.abs(v) - half_height + corner, np.abs(u) - half_width + corner
    outside = np.hypot(np.maximum(dv, 0), np.maximum(du, 0))
    return np.asarray(outside + np.minimum(np.maximum(dv, du), 0) - corner)


def polygon(v: np.ndarray, u: np.ndarray, radius: float, corners: int) -> np.ndarray:
    """Signed distance to a regular polygon."""
    sector = 2 * np.pi / corners
    angle = (np.arctan2(v, u) + sector / 2) % sector - sector / 2
    return np.asarray(np.hypot(v, u) * np.cos(angle) - radius * np.cos(sector / 2))


def fractal_noise(
    generator: np.random.Generator, shape: tuple[int, ...], sigmas_px: tuple[float, ...]
) -> np.ndarray:
    """Sum of smoothed noise at several sizes, mean 0, standard deviation 1: (H, W)."""
    total = np.zeros(shape, np.float32)
    for sigma_px in sigmas_px:
        noise = generator.standard_normal(shape, dtype=np.float32)
        smooth = np.asarray(cv2.GaussianBlur(noise, (0, 0), sigma_px), np.float32)
        total += smooth / max(float(smooth.std()), 1e-6)
    return np.asarray((total - total.mean()) / max(float(total.std()), 1e-6))


def mixed(share: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Colours (3, H, W) between ``second`` (share 0) and ``first`` (share 1)."""
    return np.asarray(share * first[:, None, None] + (1 - share) * second[:, None, None])


def text_bars(
    grid: Grid, v: np.ndarray, u: np.ndarray, size: float, generator: np.random.Generator
) -> np.ndarray:
    """Ink of a page of text-like bars between 0 and 1: words of random length on lines."""
    ink = np.zeros_like(v)
    pitch = size / 6.5
    for line in np.arange(-0.8 * size, 0.8 * size, pitch):
        start = -0.8 * size
        while start < 0.75 * size:
            length = generator.uniform(0.08, 0.32) * size
            end = min(start + length, 0.8 * size)
            bar = box(
                v - line, u - (start + end) / 2, 0.22 * pitch, max((end - start) / 2, grid.px)
            )
            ink = np.maximum(ink, grid.mask(bar))
            start += length + 0.07 * size
    return ink


def spokes(grid: Grid, v: np.ndarray, u: np.ndarray, count: int) -> np.ndarray:
    """A Siemens star between 0 and 1."""
    radius = np.maximum(np.hypot(v, u), grid.px)
    wave = np.sin(count * np.arctan2(v, u)) * radius / (count * grid.px)
    return np.asarray(np.clip(0.5 + wave, 0.0, 1.0))


def sphere_light(v: np.ndarray, u: np.ndarray, radius: float) -> np.ndarray:
    """Shading of a ball lit from the upper left, with a soft highlight."""
    y, x = v / radius, u / radius
    z = np.sqrt(np.clip(1 - y**2 - x**2, 0.0, 1.0))
    lambert = np.clip(-0.55 * y - 0.45 * x + 0.7 * z, 0.0, 1.0)
    return np.asarray(0.18 + 0.95 * lambert + 0.5 * lambert**24)
