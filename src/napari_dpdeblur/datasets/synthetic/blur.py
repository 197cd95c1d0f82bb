"""Blur of the synthetic lens in NumPy and OpenCV, for samples that must not wait for torch.

Equivalent to `optics.TiledBlur`, without gradients and slower on large images.
"""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene
from napari_dpdeblur.optics.tile_axis import TileAxis

BLEND_PX = 32
SMALLEST_SCALE = 1e-6  # a kernel shrunk by this is a point


def blurred_views(scene: SyntheticScene, kernels: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Both views of a scene through a rows x cols grid of kernels (Eq. 2): float32 (2, C, H, W).

    ``kernels`` (rows * cols, 2, K, K) at defocus scale 1.
    """
    pictures = np.concatenate([scene.color * scene.alpha, scene.alpha], axis=1)
    visible = np.ones((2, 1, *pictures.shape[-2:]), np.float32)
    views = np.zeros((2, pictures.shape[1] - 1, *pictures.shape[-2:]), np.float32)
    for picture, scale in zip(pictures[::-1], scene.defocus_scales[::-1], strict=True):
        blurred = _blurred(picture, _scaled(kernels, float(scale)), rows, cols)
        views += blurred[:, :-1] * visible
        visible *= 1 - blurred[:, -1:]
    return views


def _blurred(picture: np.ndarray, kernels: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Planes (N, H, W) through kernels (P, 2, K, K), tiles blended: (2, N, H, W)."""
    planes, height, width = picture.shape
    row_weights, col_weights = _weights(height, rows), _weights(width, cols)
    margin = kernels.shape[-1] // 2
    out = np.zeros((2, planes, height, width), np.float32)
    padded = np.pad(picture, ((0, 0), (margin, margin), (margin, margin)), mode="edge")
    for tile, pair in enumerate(kernels):
        down, across = row_weights[tile // cols], col_weights[tile % cols]
        top, bottom = np.flatnonzero(down)[[0, -1]] + (0, 1)
        left, right = np.flatnonzero(across)[[0, -1]] + (0, 1)
        weight = np.outer(down[top:bottom], across[left:right])
        around = padded[:, top : bottom + 2 * margin, left : right + 2 * margin]
        inside = (slice(margin, margin + bottom - top), slice(margin, margin + right - left))
        for view, kernel in enumerate(pair):
            for plane in range(planes):
                # filter2D correlates: a kernel turned by 180 degrees makes it a convolution
                blurred = cv2.filter2D(around[plane], cv2.CV_32F, kernel[::-1, ::-1])
                out[view, plane, top:bottom, left:right] += weight * blurred[inside]
    return out


def _weights(length: int, tiles: int) -> np.ndarray:
    """Weight of each tile along an axis: (tiles, length), 1 inside, a ramp around inner edges."""
    edges = [round(length * i / tiles) for i in range(tiles + 1)]
    return TileAxis.of(edges, BLEND_PX).full_weights().astype(np.float32)


def _scaled(kernels: np.ndarray, scale: float) -> np.ndarray:
    """Kernels at a defocus scale, by exact area integration: (P, 2, k, k), k odd, sum 1.

    In front of the focus plane, where the scale is negative, they are turned by 180 degrees.
    """
    if scale < 0:
        kernels, scale = kernels[..., ::-1, ::-1], -scale
    scale = max(scale, SMALLEST_SCALE)
    size = kernels.shape[-1]
    half_px = int(np.ceil(size * scale / 2 - 0.5))
    out_edge = np.arange(-half_px, half_px + 1)[:, None] - 0.5
    in_edge = (np.arange(size)[None, :] - size // 2 - 0.5) * scale
    overlap = np.minimum(out_edge + 1, in_edge + scale) - np.maximum(out_edge, in_edge)
    resize = np.maximum(overlap, 0.0).astype(np.float32)
    resized = resize @ kernels @ resize.T
    return np.asarray(resized / resized.sum(axis=(-2, -1), keepdims=True))
