"""A calibration as napari layers: kernels, vignetting and detected discs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.viewer.layers.convert import hidden, make_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo
from napari_dpdeblur.viewer.layers.placement import box_placement, frame_placement, placement

KERNELS, VIGNETTING, TARGET = "kernels", "vignetting", "target"
FRONT_KERNELS = "front kernels"
KERNEL_GAMMA = 0.5
RING_OVERSAMPLING, RING_RADIUS_PX, RING_COLOR = 2, 7, (0, 255, 0)
RING_SHIFT = 4  # binary digits of the centres after the point


def calibration_layers(
    calibration: Calibration, group: str | None = None, path: str | Path | None = None
) -> list[LayerData]:
    """Bottom to top: vignetting, target with discs (after a run), kernels; front ones hidden.

    Each layer holds the calibration in its LayerInfo. Kernels are drawn over the tile
    that they belong to, in square pixels of the frame. Both views share a layer: each new layer
    blocks the window for a tenth of a second.
    """
    info = LayerInfo(
        KERNELS,
        group or calibration.camera,
        calibration=calibration,
        calibration_path=None if path is None else str(path),
    )
    return [
        *_vignetting_layers(calibration, replace(info, kind=VIGNETTING)),
        *_disc_layers(calibration, replace(info, kind=TARGET)),
        *_front_layers(calibration, replace(info, kind=FRONT_KERNELS)),
        _kernel_layer(calibration, info),
    ]


def kernel_grid(calibration: Calibration, side: int) -> np.ndarray:
    """All kernels of a view in their places: (rows * K, cols * K)."""
    rows, cols, size = calibration.rows, calibration.cols, calibration.kernels.shape[-1]
    grid = calibration.kernels[:, side].reshape(rows, cols, size, size)
    return grid.swapaxes(1, 2).reshape(rows * size, cols * size)


def anaglyph(left: np.ndarray, right: np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """Two views (H, W) as RGB bytes, the brightest of both as 255: left red, right cyan.

    Equal values are grey; differences are coloured.
    """
    brightest = max(float(left.max()), float(right.max()), 1e-12)
    shown = [_bytes((view / brightest).clip(0.0, 1.0) ** gamma) for view in (left, right)]
    return np.stack([shown[0], shown[1], shown[1]], axis=-1)


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.round(255 * values).astype(np.uint8)


def _kernel_layer(calibration: Calibration, info: LayerInfo) -> LayerData:
    left, right = (kernel_grid(calibration, side) for side in (0, 1))
    picture = anaglyph(left, right, KERNEL_GAMMA)
    area = calibration.field
    placed = box_placement((area.top, area.left, area.height, area.width), picture.shape)
    return make_layer(picture, info, placed, rgb=True, blending="additive")


def _front_layers(calibration: Calibration, info: LayerInfo) -> list[LayerData]:
    """Kernels in front of the focus plane, hidden; nothing if they were not measured."""
    front = calibration.front_side()
    return [] if front is None else [hidden(_kernel_layer(front, info))]


def _vignetting_layers(calibration: Calibration, info: LayerInfo) -> list[LayerData]:
    """Light of both views over the field, hidden; nothing if it was not measured."""
    if calibration.vignetting is None:
        return []
    placed = placement((1.0, 1.0), (0.0, 0.0))
    picture = anaglyph(*calibration.vignetting)
    return [hidden(make_layer(picture, info, placed, rgb=True))]


def _disc_layers(calibration: Calibration, info: LayerInfo) -> list[LayerData]:
    """The captured target and its detected discs, if the calibration was made by a run."""
    kept = calibration.diagnostics
    if not {"thumbnail", "discs"} <= set(kept):
        return []
    discs = kept["discs"]
    info = replace(info, deviations_px=discs[:, [3, 2]])
    return [hidden(target_layer(kept["thumbnail"], discs[:, :2], calibration.frame_shape, info))]


def target_layer(
    thumbnail: np.ndarray,
    centres: np.ndarray,
    frame_shape: tuple[int, int],
    info: LayerInfo,
) -> LayerData:
    """A capture of the target with rings around the centres (N, 2): x, y in the frame."""
    picture = ringed(thumbnail, centres, frame_shape)
    placed = frame_placement(frame_shape, picture.shape)
    return make_layer(picture, replace(info, centres=centres[:, ::-1]), placed, rgb=True)


def ringed(thumbnail: np.ndarray, centres: np.ndarray, frame_shape: tuple[int, int]) -> np.ndarray:
    """A capture as RGB bytes with rings around centres (x, y), upsampled."""
    height, width = (RING_OVERSAMPLING * side for side in thumbnail.shape)
    grey = _bytes((thumbnail / max(float(thumbnail.max()), 1e-6)).clip(0.0, 1.0))
    grey = cv2.resize(grey, (width, height), interpolation=cv2.INTER_LINEAR)
    picture = cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB)
    unit = 1 << RING_SHIFT
    for x, y in (centres + 0.5) * (width / frame_shape[1], height / frame_shape[0]) - 0.5:
        place = (round(x * unit), round(y * unit))
        cv2.circle(picture, place, RING_RADIUS_PX * unit, RING_COLOR, 2, cv2.LINE_AA, RING_SHIFT)
    return picture
