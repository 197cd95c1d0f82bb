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
Window = tuple[slice, slice]
Weighted = tuple[slice, np.ndarray]


def blurred_views(scene: SyntheticScene, kernels: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Both views of a scene through a rows x cols grid of kernels (Eq. 2): float32 (2, C, H, W).

    ``kernels`` (rows * cols, 2, K, K) at defocus scale 1.
    """
    layers = np.concatenate([scene.color * scene.alpha, scene.alpha], axis=1)
    lens = LensBlur((layers.shape[-2], layers.shape[-1]), kernels, rows, cols)
    views = np.zeros((2, layers.shape[1] - 1, *layers.shape[-2:]), np.float32)
    for light, scale in zip(layers, scene.defocus_scales, strict=True):
        put_over(views, *lens.spread(light, (0, 0), float(scale)))
    return views


def put_over(views: np.ndarray, window: Window, blurred: np.ndarray) -> None:
    """Composite a blurred layer (2, C + 1, h, w), premultiplied, over views (2, C, H, W)."""
    part = views[(..., *window)]
    part *= 1 - blurred[:, -1:]
    part += blurred[:, :-1]


class LensBlur:
    """Blur of parts of layers by spatially varying kernels, blended between tiles."""

    def __init__(self, shape: tuple[int, int], kernels: np.ndarray, rows: int, cols: int) -> None:
        self._shape, self._kernels, self._cols = shape, kernels, cols
        self._down, self._across = _tile_weights(shape[0], rows), _tile_weights(shape[1], cols)

    def spread(
        self, light: np.ndarray, corner: tuple[int, int], scale: float
    ) -> tuple[Window, np.ndarray]:
        """Blur light (N, h, w), whose upper left pixel in the frame is ``corner``.

        The last plane is the coverage. Returns the window that it reaches, and (2, N, ...) there.
        """
        kernels = _scaled(self._kernels, scale)
        reach = kernels.shape[-1] // 2
        window, around = self._with_rim(light, corner, reach)
        size = [part.stop - part.start for part in window]
        out = np.zeros((2, len(light), *size), np.float32)
        if light.shape[1:] == self._shape and light[-1].min() == 1:
            around, out[:, -1] = around[:-1], 1.0
        for tile, pair in enumerate(kernels):
            down = _part(self._down[tile // self._cols], window[0])
            across = _part(self._across[tile % self._cols], window[1])
            if down is not None and across is not None:
                _add_tile(out, around, pair, down, across)
        return window, out

    def _with_rim(
        self, light: np.ndarray, corner: tuple[int, int], reach: int
    ) -> tuple[Window, np.ndarray]:
        """The window that the blur reaches, and the light there with a rim of its reach around.

        Outside the frame a layer goes on as at its edge; inside, it is empty outside its part.
        """
        window, empty, edge = [], [(0, 0)], [(0, 0)]
        for begin, size, length in zip(corner, light.shape[1:], self._shape, strict=True):
            end = begin + size
            reached = slice(max(begin - reach, 0), min(end + reach, length))
            window.append(reached)
            inner = begin > 0, end < length
            gaps = begin - reached.start, reached.stop - end
            empty.append((gaps[0] + reach * inner[0], gaps[1] + reach * inner[1]))
            edge.append((reach * (not inner[0]), reach * (not inner[1])))
        return (window[0], window[1]), np.pad(np.pad(light, empty), edge, mode="edge")


def _add_tile(
    out: np.ndarray, around: np.ndarray, pair: np.ndarray, down: Weighted, across: Weighted
) -> None:
    """Add what both kernels of a tile make of the planes around it, weighted."""
    (rows, row_weights), (cols, col_weights) = down, across
    reach = pair.shape[-1] // 2
    weight = np.outer(row_weights, col_weights)
    for plane, pixels in enumerate(around):
        source = pixels[rows.start : rows.stop + 2 * reach, cols.start : cols.stop + 2 * reach]
        for view, kernel in enumerate(pair):
            # filter2D correlates: a kernel turned by 180 degrees makes it a convolution
            soft = cv2.filter2D(source, cv2.CV_32F, np.ascontiguousarray(kernel[::-1, ::-1]))
            inner = soft[reach : soft.shape[0] - reach, reach : soft.shape[1] - reach]
            out[view, plane, rows, cols] += weight * inner


def _part(weights: np.ndarray, window: slice) -> Weighted | None:
    """Where a tile has weight inside a window, relative to it, and the weights; None: nowhere."""
    inside = weights[window]
    used = np.flatnonzero(inside)
    if not used.size:
        return None
    part = slice(int(used[0]), int(used[-1]) + 1)
    return part, inside[part]


def _tile_weights(length: int, tiles: int) -> np.ndarray:
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
