"""Scenes made of patches, each a part of one layer, and their fast and exact rendering.

A patch covers only the rectangle in which a layer has something, so a scene of many layers is
painted, composited and blurred in little more time than a single picture. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from napari_dpdeblur.datasets.synthetic.blur import LensBlur, Window, put_over
from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene

WORKERS = 2  # OpenCV filters outside Python's lock
APART_PX = 48  # light of patches farther apart than this does not meet


@dataclass(frozen=True, eq=False)
class Patch:
    """Colours (3, h, w) and coverage (h, w) of a rectangle of the frame at one defocus scale."""

    top: int
    left: int
    color: np.ndarray
    alpha: np.ndarray
    scale: float

    @property
    def window(self) -> Window:
        """Rows and columns of the frame."""
        height, width = self.alpha.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)


@dataclass(frozen=True, eq=False)
class PaintedScene:
    """Patches from back to front; the first covers everything behind the others.

    ``defocus_map`` (H, W) is the true signed map, as painted: slanted surfaces have their own
    value in each pixel, not that of a layer.
    """

    shape: tuple[int, int]
    patches: tuple[Patch, ...]
    defocus_map: np.ndarray

    @cached_property
    def all_in_focus(self) -> np.ndarray:
        """The sharp image (3, H, W), float32."""
        picture = np.zeros((3, *self.shape), np.float32)
        for patch in self.patches:
            part = picture[(slice(None), *patch.window)]
            part += (patch.color - part) * patch.alpha
        return picture

    def layered(self) -> SyntheticScene:
        """The scene as whole layers, one for each defocus scale."""
        scales = sorted({patch.scale for patch in self.patches}, reverse=True)
        color = np.zeros((len(scales), 3, *self.shape), np.float32)
        alpha = np.zeros((len(scales), 1, *self.shape), np.float32)
        for patch in self.patches:
            layer, window = scales.index(patch.scale), (slice(None), *patch.window)
            under, cover = alpha[layer][window], patch.alpha[None]
            kept = under * (1 - cover)
            total = kept + cover
            mean = (color[layer][window] * kept + patch.color * cover) / np.maximum(total, 1e-9)
            color[layer][window], alpha[layer][window] = mean, total
        alpha[0], covered = 1.0, alpha[0]
        color[0] = np.where(covered > 0, color[0], color[0].mean((1, 2), keepdims=True))
        return SyntheticScene(color, alpha, np.array(scales, np.float32), self.defocus_map)

    def blurred(self, kernels: np.ndarray, rows: int, cols: int) -> np.ndarray:
        """Both views through a rows x cols grid of kernels (Eq. 2): float32 (2, 3, H, W).

        ``kernels`` (rows * cols, 2, K, K) at defocus scale 1.
        """
        lens = LensBlur(self.shape, kernels, rows, cols)
        views = np.zeros((2, 3, *self.shape), np.float32)
        with ThreadPoolExecutor(WORKERS) as pool:
            for window, blurred in pool.map(partial(_spread, lens), _merged(self.patches)):
                put_over(views, window, blurred)
        return views


def _spread(lens: LensBlur, patch: Patch) -> tuple[Window, np.ndarray]:
    light = np.concatenate([patch.color * patch.alpha, patch.alpha[None]])
    return lens.spread(light, (patch.top, patch.left), patch.scale)


def _merged(patches: Sequence[Patch]) -> Iterator[Patch]:
    """Patches of one scale whose light meets become one: they are one layer, blurred at once."""
    waiting: list[Patch] = []
    for patch in patches:
        if waiting and waiting[-1].scale != patch.scale:
            yield from waiting
            waiting = []
        near = [other for other in waiting if _touch(other, patch)]
        waiting = [other for other in waiting if other not in near]
        waiting.append(_over([*near, patch]) if near else patch)
    yield from waiting


def _touch(first: Patch, second: Patch) -> bool:
    pairs = zip(first.window, second.window, strict=True)
    return all(a.start < b.stop + APART_PX and b.start < a.stop + APART_PX for a, b in pairs)


def _over(patches: Sequence[Patch]) -> Patch:
    """Patches of one scale composited in their order, on the smallest rectangle around them."""
    top, left = min(p.top for p in patches), min(p.left for p in patches)
    bottom = max(p.window[0].stop for p in patches)
    right = max(p.window[1].stop for p in patches)
    light = np.zeros((4, bottom - top, right - left), np.float32)
    for p in patches:
        height, width = p.alpha.shape
        part = light[:, p.top - top :, p.left - left :][:, :height, :width]
        part *= 1 - p.alpha
        part += np.concatenate([p.color * p.alpha, p.alpha[None]])
    return Patch(top, left, light[:3] / np.maximum(light[3], 1e-6), light[3], patches[0].scale)
