"""Sharp views of a multiplane image from elsewhere: parallax and turntable.

Every layer is moved by its own defocus and composited without blur; where a nearer layer moves
away, the continuation of the layer behind it appears.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.optics.mpi import MultiplaneImage

MAPPING_STEPS = 3  # of the fixed-point iteration that inverts a movement; each gains two digits
Movement = Callable[[FloatArray, FloatArray, Any], tuple[FloatArray, FloatArray]]


class SharpViews:
    """Renders sharp views (C, h, w) of one multiplane image, linear, in the unit of its layers.

    With ``reduction`` n it works on means of n x n px; shifts stay in pixels of the layers.
    """

    def __init__(self, mpi: MultiplaneImage, reduction: int = 1) -> None:
        self._reduction = reduction
        self._scales = [float(scale) for scale in mpi.defocus_scales]
        # alpha last, colours premultiplied, as OpenCV warps them
        self._layers = [
            self._small(np.concatenate([color * alpha, alpha]))
            for color, alpha in zip(mpi.color, mpi.alpha, strict=True)
        ]
        own = [None] * len(self._scales) if mpi.defocus is None else mpi.defocus
        self._defocus = [
            None if d is None or float(np.ptp(d)) < 1e-3 else self._small(d) for d in own
        ]
        for number, d in enumerate(own):
            if d is not None and self._defocus[number] is None:
                self._scales[number] = float(d.mean())

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the views."""
        return self._layers[0].shape[0], self._layers[0].shape[1]

    def parallax(self, shift_px: tuple[float, float], focus: float = 0.0) -> FloatArray:
        """The scene with every layer shifted by ``shift_px`` (x, y) times its defocus - focus."""
        dx, dy = (shift / self._reduction for shift in shift_px)

        def sources(x: FloatArray, y: FloatArray, defocus: Any) -> tuple[FloatArray, FloatArray]:
            moved = defocus - focus
            return x - dx * moved, y - dy * moved

        return self._view(sources, cv2.BORDER_REPLICATE)

    def turned(self, angle_deg: float, spread: float) -> FloatArray:
        """The scene turned around a vertical axis in the middle of its depth; black around it.

        The nearest layer is ``spread`` widths of the image in front of the farthest.
        """
        sine, cosine = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
        near, far = self._limits()
        width = self.shape[1]
        depth = spread * width / max(far - near, 1e-9)

        def sources(x: FloatArray, y: FloatArray, defocus: Any) -> tuple[FloatArray, FloatArray]:
            toward = ((near + far) / 2 - defocus) * depth
            across = (x - (width - 1) / 2 - toward * sine) / cosine
            return np.asarray(across + (width - 1) / 2, np.float32), y

        return self._view(sources, cv2.BORDER_CONSTANT)

    def _limits(self) -> tuple[float, float]:
        values = [
            (scale, scale) if own is None else (float(own.min()), float(own.max()))
            for scale, own in zip(self._scales, self._defocus, strict=True)
        ]
        return min(low for low, _ in values), max(high for _, high in values)

    def _view(self, sources: Movement, border: int) -> FloatArray:
        """Composite of the layers, each sampled where ``sources`` (x, y, defocus) says."""
        height, width = self.shape
        y, x = np.indices((height, width), np.float32)
        out: FloatArray = np.zeros((height, width, self._layers[0].shape[2] - 1), np.float32)
        for layer, scale, own in zip(self._layers, self._scales, self._defocus, strict=True):
            from_x, from_y = sources(x, y, scale)
            if own is not None:
                for _ in range(MAPPING_STEPS):
                    there = cv2.remap(
                        own, from_x, from_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
                    )
                    from_x, from_y = sources(x, y, there)
            moved = cv2.remap(layer, from_x, from_y, cv2.INTER_CUBIC, borderMode=border)
            out *= 1 - np.clip(moved[..., -1:], 0, 1)
            out += moved[..., :-1]
        return np.ascontiguousarray(np.moveaxis(out, -1, 0)).clip(0)

    def _small(self, planes: FloatArray) -> FloatArray:
        """Planes (C, H, W) as (h, w, C), or (h, w) if there is one."""
        last = np.ascontiguousarray(np.moveaxis(planes, 0, -1), np.float32)
        if self._reduction > 1:
            height, width = (-(-side // self._reduction) for side in last.shape[:2])
            small = cv2.resize(last, (width, height), interpolation=cv2.INTER_AREA)
            last = np.asarray(small, np.float32)
        return last[..., 0] if last.ndim == 3 and last.shape[2] == 1 else last
