"""Layers that are computed one at a time, when they are used: all of them would fill the memory.

They behave like arrays (L, C, H, W) for NumPy, napari and the writers. Loads no torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from napari_dpdeblur.array_types import FloatArray


class LazyLayers(NDArrayOperatorsMixin, ABC):
    """Layers (L, C, H, W); an index returns an array, and a calculation with all makes one."""

    dtype = np.dtype(np.float32)
    ndim = 4

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, channels, height and width."""

    @abstractmethod
    def layer(self, number: int) -> FloatArray:
        """One layer: (C, H, W)."""

    @abstractmethod
    def magnitude(self) -> float:
        """A value that no pixel exceeds by far, without computing all layers."""

    @property
    def nbytes(self) -> int:
        """Size of all layers."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[FloatArray]:
        return (self.layer(number) for number in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if first is Ellipsis:
            first, rest = slice(None), [Ellipsis, *rest]
        chosen = np.arange(len(self))[first]
        if chosen.ndim == 0:
            return self.layer(int(chosen))[tuple(rest)]
        parts = [self.layer(int(number))[tuple(rest)] for number in chosen]
        return np.stack(parts) if parts else np.empty((0, *self.shape[1:]), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = (np.asarray(i) if isinstance(i, LazyLayers) else i for i in inputs)
        return getattr(ufunc, method)(*arrays, **options)


@dataclass(frozen=True, eq=False)
class EnlargedLayers(LazyLayers):
    """Layers of lower resolution, enlarged to ``size`` (H, W) px.

    ``coarse`` (L, C, h, w). ``detail`` (C, n, m), on a grid in between, is added times ``share``
    (L, 1, h, w); the sum is at least 0 and divided by ``unit``.
    """

    coarse: FloatArray
    size: tuple[int, int]
    detail: FloatArray | None = None
    share: FloatArray | None = None
    unit: float = 1.0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, channels, height and width."""
        layers, channels = self.coarse.shape[:2]
        return layers, channels, *self.size

    def layer(self, number: int) -> FloatArray:
        """One layer: (C, H, W)."""
        if self.detail is None or self.share is None:
            return enlarged(self.coarse[number], self.size)
        grid = (self.detail.shape[-2], self.detail.shape[-1])
        fine, share = (enlarged(images[number], grid) for images in (self.coarse, self.share))
        for plane, detail in zip(fine, self.detail, strict=True):
            plane += share[0] * detail
        np.maximum(fine, 0, out=fine)
        fine /= np.float32(self.unit)
        return fine if grid == self.size else enlarged(fine, self.size)

    def magnitude(self) -> float:
        """The largest value of the layers before details are added, plus the largest detail."""
        detail = 0.0 if self.detail is None else largest(self.detail)
        return (largest(self.coarse) + detail) / self.unit


def largest(values: FloatArray) -> float:
    """Largest absolute value, without a copy."""
    return max(float(values.max()), -float(values.min()))


def one_ahead(*stacks: FloatArray | LazyLayers | None) -> Iterator[list[Any]]:
    """The layers of all stacks, each computed while the one before it is being used."""

    def computed(layer: int) -> list[Any]:
        return [None if stack is None else np.asarray(stack[layer]) for stack in stacks]

    count = max(len(stack) for stack in stacks if stack is not None)
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(computed, 0)
        for layer in range(1, count + 1):
            current = ahead.result()
            if layer < count:
                ahead = pool.submit(computed, layer)
            yield current


def enlarged(images: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Bilinear interpolation between pixel centres of images (C, h, w); always a copy."""
    if images.shape[-2:] == size:
        return np.array(images, np.float32)
    height, width = size
    out: FloatArray = np.empty((len(images), height, width), np.float32)
    for plane, target in zip(images, out, strict=True):
        source = np.ascontiguousarray(plane, np.float32)
        cv2.resize(source, (width, height), dst=target, interpolation=cv2.INTER_LINEAR)
    return out


@dataclass(frozen=True, eq=False)
class EvenAlpha(LazyLayers):
    """Alpha of evenly spaced layers: a surface, continued behind its nearer parts.

    ``defocus_map`` (h, w) is that of the surface, ``farthest`` (h, w) that of what continues
    behind it where it ``occludes``; ``scales`` (L,) fall evenly. ``size`` is (H, W).
    """

    defocus_map: FloatArray
    farthest: FloatArray
    occludes: np.ndarray
    scales: FloatArray
    size: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, one channel, height and width."""
        return len(self.scales), 1, *self.size

    def layer(self, number: int) -> FloatArray:
        """One layer: (1, H, W)."""
        visible = self.visible(number)
        behind = self._alpha(self.farthest, number) * self.occludes
        if number == 0:
            behind[:] = 1
        return enlarged(np.where(visible > 0, visible, behind)[None], self.size)

    def magnitude(self) -> float:
        """Alpha is at most 1."""
        return 1.0

    def visible(self, number: int) -> FloatArray:
        """What is seen of a layer, on the grid of the map: (h, w)."""
        alpha = self._alpha(self.defocus_map, number)
        return (alpha > 0).astype(np.float32) if number == 0 else alpha

    def _alpha(self, defocus: FloatArray, number: int) -> FloatArray:
        """Alpha (h, w) for linear weights of the two scales next to each defocus."""
        scales, step = self.scales, self.scales[0] - self.scales[1]
        within = np.clip(defocus, scales[-1], scales[0])
        weight = np.maximum(1 - np.abs(within - scales[number]) / step, 0)
        in_front = np.clip((scales[number] - within) / step, 0, 1)
        alpha = np.clip(weight / np.maximum(1 - in_front, 1e-6), 0, 1)
        return np.asarray(alpha, np.float32)


@dataclass(frozen=True, eq=False)
class EvenColor(LazyLayers):
    """Colours of evenly spaced layers: an image where visible, else what was inpainted behind it.

    ``image`` and ``behind`` (C, h, w) are divided by ``unit``.
    """

    alpha: EvenAlpha
    image: FloatArray
    behind: FloatArray
    unit: float = 1.0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, channels, height and width."""
        return len(self.alpha), len(self.image), *self.alpha.size

    def layer(self, number: int) -> FloatArray:
        """One layer: (C, H, W)."""
        seen = self.alpha.visible(number)[None] > 0
        color = np.where(seen, self.image, self.behind)
        return enlarged(np.asarray(color / np.float32(self.unit), np.float32), self.alpha.size)

    def magnitude(self) -> float:
        """The largest value of both images."""
        return max(largest(self.image), largest(self.behind)) / self.unit
