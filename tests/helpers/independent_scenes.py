"""Calibration captures rendered in the simplest way, without the package's own simulator.

A screen with discs is seen through a homography, supersampled, and convolved with two half discs.
Everything that goes wrong in practice is a number of :class:`Trouble`. The package contributes
only `DualPixelCapture`, the container that its solver takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source

BLACK_DN, WHITE_DN = 1024.0, 16383.0
FULL_WELL = 9000.0  # electrons at white
READ_NOISE = 6.0
EXPOSURE = 0.55  # of white, where the screen is white
LEAK = 0.004  # light of a black screen
SAMPLES = 4  # per pixel and axis
KERNEL_PX = 41
SOFT_PX = 2.0  # half the width of the edge of a kernel


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a shoot; the default is a flawless one."""

    white_gain: float = 1.0  # the white screen is brighter than the discs
    ambient: float = 0.0  # light on the discs only, as a share of white
    glare: float = 0.0  # share of all light that spreads over the whole picture
    displaced_px: tuple[float, float] = (0.0, 0.0)  # of the right view, (x, y)
    exchanged: bool = False  # left and right
    motion_px: tuple[float, float] = (0.0, 0.0)  # of the camera during the discs, (x, y)
    odd_exposure: float = 1.0  # of the second of several shots
    odd_blur: float = 1.0  # size of the kernels in the second of several shots
    odd_motion_px: tuple[float, float] = (0.0, 0.0)  # in the second of several shots
    shake_px: float = 0.0  # between shots
    drift: float = 0.0  # of the brightness, from the first to the last shot
    dust: int = 0  # dark spots, in all captures
    reflection: float = 0.0  # a soft spot of light, in all captures


@dataclass(frozen=True)
class Scene:
    """Screen, camera and lens: `target` as in target.json, the rest in pixels and degrees."""

    target: Mapping[str, Any]
    frame: tuple[int, int] = (384, 480)
    zoom: float = 1.0
    rotation_deg: float = 2.0
    tilt: tuple[float, float] = (2e-5, -3e-5)
    shift_px: tuple[float, float] = (3.3, -2.1)
    radius_px: float = 7.5
    behind: bool = True
    seed: int = 0
    row_height: int = 1  # rows that the sensor reads as one, as phones do
    trouble: Trouble = field(default_factory=Trouble)

    def kernels(self, scale: float = 1.0) -> np.ndarray:
        """The true kernels (2, 41, 41): a disc, brighter on one side; mirrored in front."""
        at = np.arange(KERNEL_PX) - KERNEL_PX // 2
        x, y = np.meshgrid(at, at)
        radius = scale * self.radius_px
        disc = np.clip((radius + SOFT_PX - np.hypot(x, y)) / (2 * SOFT_PX), 0, 1)
        side = 1 if self.behind else -1
        left = disc * (0.5 - 0.42 * np.tanh(side * 2.5 * x / radius))
        pair = np.stack([left, left[:, ::-1]])
        return np.asarray(pair / pair.sum((1, 2), keepdims=True))

    def seen_kernels(self) -> np.ndarray:
        """The true kernels with the softness of high rows that were interpolated bilinearly."""
        seen = self.kernels()
        for _ in range(4 * (self.row_height > 1)):  # half a row up and down by turns
            seen = (seen + np.roll(seen, 1, axis=1)) / 2
        return np.roll(seen, -2 * (self.row_height > 1), axis=1)

    def shoot(self, shots: int = 1) -> dict[str, list[DualPixelCapture]]:
        """Captures of the discs (several), the white and the black screen."""
        random = np.random.default_rng(self.seed)
        trouble = self.trouble
        shakes = [trouble.shake_px * random.normal(size=2) * (n > 0) for n in range(shots)]
        gains = [1 + trouble.drift * n / max(shots - 1, 1) for n in range(shots)]
        discs = []
        for number, (shake, gain) in enumerate(zip(shakes, gains, strict=True)):
            is_odd = number == 1 and shots > 2
            gain *= trouble.odd_exposure if is_odd else 1.0
            scale = trouble.odd_blur if is_odd else 1.0
            light = gain * (self._light(True, shake) + trouble.ambient)
            motion_px = trouble.odd_motion_px if is_odd else trouble.motion_px
            discs.append(self._capture(light, scale, motion_px, random, f"discs{number}"))
        white = trouble.white_gain * self._light(None, np.zeros(2))
        black = self._light(False, np.zeros(2))
        return {
            "discs": discs,
            "white": [self._capture(white, 1.0, (0, 0), random, "white")],
            "black": [self._capture(black, 1.0, (0, 0), random, "black")],
        }

    def _light(self, discs: bool | None, shake: np.ndarray) -> np.ndarray:
        """Light (H, W) of the screen: discs, black (False) or white (None)."""
        height, width = self.frame
        total = np.zeros(self.frame)
        at = (np.arange(SAMPLES) + 0.5) / SAMPLES - 0.5
        for dy in at:
            for dx in at:
                y, x = np.mgrid[0:height, 0:width].astype(float)
                screen_x, screen_y = self._on_screen(x + dx + shake[0], y + dy + shake[1])
                cols, rows = self.target["screen_px"]
                inside = (abs(screen_x - (cols - 1) / 2) < cols / 2) & (
                    abs(screen_y - (rows - 1) / 2) < rows / 2
                )
                lit = (
                    self._is_disc(screen_x, screen_y) if discs else np.full(x.shape, discs is None)
                )
                total += inside * (LEAK + (1 - LEAK) * lit)
        return total / SAMPLES**2

    def _on_screen(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        height, width = self.frame
        cols, rows = self.target["screen_px"]
        x, y = x - (width - 1) / 2 - self.shift_px[0], y - (height - 1) / 2 - self.shift_px[1]
        angle = np.deg2rad(self.rotation_deg)
        depth = self.zoom * (1 + self.tilt[0] * x + self.tilt[1] * y)
        turned_x = (np.cos(angle) * x + np.sin(angle) * y) / depth
        turned_y = (np.cos(angle) * y - np.sin(angle) * x) / depth
        return turned_x + (cols - 1) / 2, turned_y + (rows - 1) / 2

    def _is_disc(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        target = self.target
        sizes = np.array([[int(mark) for mark in row] for row in target["sizes"]])
        first_x, first_y = target["first_disc_px"]
        pitch = target["pitch_px"]
        col = np.clip(np.rint((x - first_x) / pitch), 0, sizes.shape[1] - 1).astype(int)
        row = np.clip(np.rint((y - first_y) / pitch), 0, sizes.shape[0] - 1).astype(int)
        radius = np.array(target["radii_px"])[sizes[row, col]]
        return np.hypot(x - first_x - col * pitch, y - first_y - row * pitch) < radius

    def _capture(
        self,
        light: np.ndarray,
        scale: float,
        motion_px: tuple[float, float],
        random: np.random.Generator,
        name: str,
    ) -> DualPixelCapture:
        """Blur, vignetting, glare, spots, noise and levels."""
        views = np.stack([blurred(light, kernel) for kernel in self.kernels(scale)])
        if any(motion_px):
            views = np.stack([moved_blur(view, motion_px) for view in views])
        trouble = self.trouble
        views = (1 - trouble.glare) * views + trouble.glare * views.mean((1, 2), keepdims=True)
        views = views * self._shading()
        views = np.stack([views[0], shifted(views[1], trouble.displaced_px)])
        views = views * self._dust() + trouble.reflection * self._spot()
        views = views.reshape(2, -1, self.row_height, views.shape[-1]).mean(2)
        electrons = FULL_WELL * EXPOSURE * np.maximum(views, 0)
        noise = random.normal(size=views.shape) * np.sqrt(electrons + READ_NOISE**2)
        values = BLACK_DN + (WHITE_DN - BLACK_DN) * (electrons + noise) / FULL_WELL
        if trouble.exchanged:
            values = values[::-1]
        raw = np.clip(np.rint(values), 0, WHITE_DN).astype(np.uint16)[:, None]
        source = Source("independent", (f"{name}_left.png", f"{name}_right.png"), ("0", "1"))
        return DualPixelCapture(raw, BLACK_DN, WHITE_DN, name, source, self.row_height)

    def _shading(self) -> np.ndarray:
        """Vignetting (2, H, W) that differs between the views."""
        height, width = self.frame
        y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
        fall = 1 - 0.25 * (x**2 + y**2) / 2
        return np.stack([fall * (1 - 0.06 * x), fall * (1 + 0.06 * x)])

    def _dust(self) -> np.ndarray:
        random = np.random.default_rng(self.seed + 1)
        height, width = self.frame
        y, x = np.mgrid[0:height, 0:width]
        clear = np.ones(self.frame)
        for _ in range(self.trouble.dust):
            spot = random.uniform(size=2) * self.frame
            clear *= 1 - 0.15 * np.exp(-((y - spot[0]) ** 2 + (x - spot[1]) ** 2) / 2 / 5**2)
        return clear

    def _spot(self) -> np.ndarray:
        height, width = self.frame
        y, x = np.mgrid[0:height, 0:width]
        return np.exp(-((y - 0.4 * height) ** 2 + (x - 0.6 * width) ** 2) / 2 / 40**2)

    def with_trouble(self, **changes: Any) -> Scene:
        """The same scene with something wrong."""
        return replace(self, trouble=replace(self.trouble, **changes))


def blurred(picture: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolution with a kernel, black beyond the borders."""
    half = kernel.shape[0] // 2
    shape = [side + kernel.shape[0] for side in picture.shape]
    product = np.fft.rfft2(picture, shape) * np.fft.rfft2(kernel, shape)
    whole = np.fft.irfft2(product, shape)
    return np.asarray(whole[half : half + picture.shape[0], half : half + picture.shape[1]])


def shifted(picture: np.ndarray, by_px: tuple[float, float]) -> np.ndarray:
    """The picture moved by (x, y), with a smooth phase in the spectrum."""
    if not any(by_px):
        return picture
    rows, cols = (np.fft.fftfreq(side) for side in picture.shape)
    phase = np.exp(-2j * np.pi * (cols[None] * by_px[0] + rows[:, None] * by_px[1]))
    return np.asarray(np.fft.ifft2(np.fft.fft2(picture) * phase).real)


def moved_blur(picture: np.ndarray, by_px: tuple[float, float]) -> np.ndarray:
    """The mean of the picture over a straight motion."""
    steps = np.linspace(-0.5, 0.5, 17)
    return np.mean([shifted(picture, (s * by_px[0], s * by_px[1])) for s in steps], axis=0)


def kernel_error(found: np.ndarray, true: np.ndarray) -> float:
    """Mean relative L2 error of kernels (P, 2, K, K) against the true pair (2, 41, 41)."""
    middle, half = KERNEL_PX // 2, found.shape[-1] // 2
    window = slice(middle - half, middle + half + 1)
    true = true[:, window, window]
    difference = np.sqrt(((found - true) ** 2).sum((-2, -1)))
    return float((difference / np.sqrt((true**2).sum((-2, -1)))).mean())
