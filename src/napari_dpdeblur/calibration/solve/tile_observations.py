"""Observations of the calibration target, cut into the tiles of the kernel grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.capture.merge import MAD_TO_SIGMA
from napari_dpdeblur.optics import TileLayout

WEIGHT_SMOOTHING_PX = 2.0
FILTER_REACH_PX = 32
# Third differences along x contain noise and hardly anything of a blurred image.
NOISE_FILTER = np.array([[1.0, -3.0, 3.0, -1.0]], np.float32) / np.float32(np.sqrt(20.0))

Warp = Callable[[np.ndarray], np.ndarray]
Render = Callable[[Warp, tuple[int, int], int, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class TargetObservations:
    """Sharp pattern, captured views and usable pixels of the calibrated field.

    ``latent`` (H + 2m, W + 2m): coverage by discs, with a margin of half a kernel; ``views``
    (2, H, W): captures, 0 = black screen, 1 = white screen; ``valid`` (H, W): pixels to use.
    ``render(warp, shape, top, left)`` renders the latent image of a window that starts at a pixel
    of the field, with points (x, y) of the field moved by ``warp``.
    """

    latent: np.ndarray
    views: np.ndarray
    valid: np.ndarray
    render: Render | None = None


@dataclass(frozen=True, eq=False)
class TileObservations:
    """The observations cut into tiles of equal size; padding of smaller tiles has weight 0."""

    latent: np.ndarray  # (P, h + 2m, w + 2m)
    views: np.ndarray  # (P, 2, h, w)
    weight: np.ndarray  # (P, 2, h, w)
    noise: np.ndarray  # (P,)
    solvable: np.ndarray  # (P,)
    corners: list[tuple[int, int]]  # top and left of each tile
    gradient: float = 0.0
    render: Render | None = None

    @classmethod
    def of(
        cls, observations: TargetObservations, layout: TileLayout, settings: SolveSettings
    ) -> TileObservations:
        """Cut the observations, weight pixels by their noise, find the tiles that can be solved."""
        latent, views, valid = _filtered(observations, settings.gradient)
        margin = settings.kernel_px // 2
        window = _window(layout)
        cuts = [
            _cut(view, layout, window)
            for view in (*views, *_noise_weights(observations, settings), valid)
        ]
        own = _cut(np.ones_like(valid), layout, window, inside_only=True)
        inside = cuts[4] * own
        weight = np.stack(cuts[2:4], axis=1) * inside[:, None]
        latent_tiles = _cut(latent, layout, window, margin=margin)
        tile_views = np.stack(cuts[:2], axis=1)
        noise = _noise_level(tile_views, weight)
        solvable = _solvable(observations, layout, window, inside, own, settings)
        corners = [(rows.start, cols.start) for rows, cols in _slices(layout)]
        return cls(
            latent_tiles,
            tile_views,
            weight,
            noise,
            solvable,
            corners,
            settings.gradient,
            observations.render,
        )

    def render_again(self, tile: int, stretch: np.ndarray) -> None:
        """Render the latent image of a tile again, stretched around its centre.

        ``stretch`` (2, 2): displacement (x, y) in pixels per pixel from the centre.
        """
        if self.render is None:
            return
        (top, left), (height, width) = self.corners[tile], self.views.shape[-2:]
        margin = (self.latent.shape[-2] - height) // 2
        middle = np.array([left + (width - 1) / 2, top + (height - 1) / 2])

        def warp(points: np.ndarray) -> np.ndarray:
            return np.asarray(points + (points - middle) @ stretch.T)

        shape = (height + 2 * margin, width + 2 * margin)
        latent = self.render(warp, shape, top - margin, left - margin)
        self.latent[tile] = _emphasised(latent, self.gradient) if self.gradient else latent

    def joined(self, tiles: np.ndarray, layout: TileLayout) -> np.ndarray:
        """Reassemble tiles (P, 2, h, w) into one image (2, H, W)."""
        picture = np.zeros((2, *layout.shape), np.float32)
        for tile, (rows, cols) in zip(tiles, _slices(layout), strict=True):
            height, width = rows.stop - rows.start, cols.stop - cols.start
            picture[:, rows, cols] = tile[:, :height, :width]
        return picture


def _window(layout: TileLayout) -> tuple[int, int]:
    """Height and width of the largest tile."""
    return (
        max(b - a for a, b in itertools.pairwise(layout.row_edges)),
        max(b - a for a, b in itertools.pairwise(layout.col_edges)),
    )


def _slices(layout: TileLayout) -> list[tuple[slice, slice]]:
    rows = [slice(a, b) for a, b in itertools.pairwise(layout.row_edges)]
    cols = [slice(a, b) for a, b in itertools.pairwise(layout.col_edges)]
    return list(itertools.product(rows, cols))


def _cut(
    picture: np.ndarray,
    layout: TileLayout,
    window: tuple[int, int],
    margin: int = 0,
    inside_only: bool = False,
) -> np.ndarray:
    """Tiles (P, h + 2 margin, w + 2 margin) of an image that includes the margin."""
    height, width = window[0] + 2 * margin, window[1] + 2 * margin
    tiles = np.zeros((layout.rows * layout.cols, height, width), np.float32)
    for tile, (rows, cols) in zip(tiles, _slices(layout), strict=True):
        stop = (rows.stop, cols.stop) if inside_only else (rows.start + height, cols.start + width)
        part = picture[rows.start : stop[0], cols.start : stop[1]]
        tile[: part.shape[0], : part.shape[1]] = part
    return tiles


def _filtered(
    observations: TargetObservations, gradient: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Latent, views and valid pixels, filtered by sqrt(1 + l4 |omega|^2)."""
    valid = observations.valid.astype(np.float32)
    if gradient == 0:
        return observations.latent, observations.views, valid
    views = np.stack([_emphasised(view, gradient) for view in observations.views])
    return _emphasised(observations.latent, gradient), views, valid


def _emphasised(picture: np.ndarray, gradient: float) -> np.ndarray:
    height, width = picture.shape
    reach = FILTER_REACH_PX
    padded = np.pad(picture, reach, mode="reflect")
    spectrum = np.fft.rfft2(padded)
    omega_y = 2 * np.sin(np.pi * np.fft.fftfreq(padded.shape[0]))[:, None]
    omega_x = 2 * np.sin(np.pi * np.fft.rfftfreq(padded.shape[1]))
    spectrum *= np.sqrt(1 + gradient * (omega_y**2 + omega_x**2))
    filtered = np.fft.irfft2(spectrum, s=padded.shape)
    return np.asarray(filtered[reach : reach + height, reach : reach + width], np.float32)


def _noise_weights(observations: TargetObservations, settings: SolveSettings) -> np.ndarray:
    """Inverse variance of photon noise, up to a factor: (2, H, W)."""
    smooth = [cv2.GaussianBlur(view, (0, 0), WEIGHT_SMOOTHING_PX) for view in observations.views]
    light = np.clip(np.stack(smooth), 0.0, None)
    return np.asarray((1 + settings.shadow_noise) / (light + settings.shadow_noise), np.float32)


def _noise_level(views: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Standard deviation (P,) of the weighted noise, from third differences along x."""
    levels = []
    for tile, tile_weight in zip(views, weight, strict=True):
        used = tile_weight[..., 1:-2].ravel() > 0
        if not used.any():
            levels.append(0.0)
            continue
        rough = np.stack([cv2.filter2D(view, -1, NOISE_FILTER, anchor=(1, 0)) for view in tile])
        even = (rough * np.sqrt(tile_weight))[..., 1:-2].ravel()[used]
        levels.append(float(MAD_TO_SIGMA * np.median(np.abs(even))))
    return np.array(levels)


def _solvable(
    observations: TargetObservations,
    layout: TileLayout,
    window: tuple[int, int],
    inside: np.ndarray,
    own: np.ndarray,
    settings: SolveSettings,
) -> np.ndarray:
    """Whether each tile (P,) has enough usable pixels and enough contrast."""
    margin = settings.kernel_px // 2
    middle = observations.latent[margin:-margin, margin:-margin]
    pattern = _cut(middle, layout, window)
    share = inside.sum((1, 2)) / own.sum((1, 2))
    count = np.maximum(inside.sum((1, 2)), 1)
    mean = (pattern * inside).sum((1, 2)) / count
    variance = ((pattern - mean[:, None, None]) ** 2 * inside).sum((1, 2)) / count
    return np.asarray((share >= settings.min_valid) & (np.sqrt(variance) >= settings.min_texture))
