"""A calibration as napari layers: kernels in their places, vignetting, detected discs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.viewer.layers import LayerData, hidden, make_layer, placement

KERNELS, VIGNETTING, TARGET, DISCS = "kernels", "vignetting", "target", "discs"
SIDES = ("left", "right")
# Left and right overlap to white; where they differ, the colours part like in an anaglyph.
KERNEL_COLORMAPS = ("red", "cyan")
KERNEL_GAMMA = 0.5
RING_OVERSAMPLING, RING_RADIUS_PX, RING_COLOR = 2, 7, (0, 255, 0)
RING_SHIFT = 4  # binary digits of the centres after the point


def calibration_layers(
    calibration: Calibration, group: str | None = None, path: str | Path | None = None
) -> list[LayerData]:
    """Bottom to top: vignetting, target with discs (after a run), kernels of both views.

    Each layer carries the record itself as ``calibration``. Kernels are drawn over the tile
    that they belong to, in square pixels of the frame.
    """
    group = group or calibration.camera
    known = {"calibration": calibration, "calibration_path": None if path is None else str(path)}
    known = {key: value for key, value in known.items() if value is not None}
    layers = _vignetting_layers(calibration, group, known)
    layers += _disc_layers(calibration, group, known)
    layers += [_kernel_layer(calibration, group, side, known) for side in (1, 0)]
    return layers


def kernel_grid(calibration: Calibration, side: int) -> np.ndarray:
    """All kernels of a view in their places: (rows * K, cols * K)."""
    rows, cols, size = calibration.rows, calibration.cols, calibration.kernels.shape[-1]
    grid = calibration.kernels[:, side].reshape(rows, cols, size, size)
    return grid.swapaxes(1, 2).reshape(rows * size, cols * size)


def _kernel_layer(
    calibration: Calibration, group: str, side: int, known: dict[str, Any]
) -> LayerData:
    grid = kernel_grid(calibration, side)
    return make_layer(
        grid,
        group,
        f"{KERNELS} {SIDES[side]}",
        _over_field(calibration, grid.shape),
        known,
        colormap=KERNEL_COLORMAPS[side],
        blending="additive",
        contrast_limits=(0.0, float(calibration.kernels.max())),
        gamma=KERNEL_GAMMA,
    )


def _vignetting_layers(
    calibration: Calibration, group: str, known: dict[str, Any]
) -> list[LayerData]:
    """Light of both views, hidden: (H, W) each, 0 to the brightest."""
    if calibration.vignetting is None:
        return []
    limits = (0.0, float(calibration.vignetting.max()))
    look = {"colormap": "gray", "contrast_limits": limits}
    placed = placement((1.0, 1.0), (0.0, 0.0))
    return [
        hidden(
            make_layer(
                calibration.vignetting[side],
                group,
                f"{VIGNETTING} {SIDES[side]}",
                placed,
                known,
                **look,
            )
        )
        for side in (1, 0)
    ]


def _disc_layers(calibration: Calibration, group: str, known: dict[str, Any]) -> list[LayerData]:
    """The photographed target and what was found on it, if the calibration was made by a run."""
    kept = calibration.diagnostics
    if not {"thumbnail", "discs"} <= set(kept):
        return []
    discs = kept["discs"]
    known = {**known, "deviations_px": discs[:, [3, 2]]}
    return target_layers(kept["thumbnail"], discs[:, :2], calibration.frame_shape, group, known)


def target_layers(
    thumbnail: np.ndarray,
    centres: np.ndarray,
    frame_shape: tuple[int, int],
    group: str,
    known: dict[str, Any] | None = None,
) -> list[LayerData]:
    """A photograph of the target, and rings around the centres (N, 2): x, y in the frame.

    The rings are a picture, not points: the first points in a window hold it up for half a second.
    """
    limits = (0.0, max(float(thumbnail.max()), 1e-6))
    known = known or {}
    picture = make_layer(
        thumbnail, group, TARGET, _over(frame_shape, thumbnail.shape), known, contrast_limits=limits
    )
    rings = disc_rings(centres, frame_shape, thumbnail.shape)
    placed = _over(frame_shape, rings.shape)
    known = {**known, "centres": centres[:, ::-1]}
    return [picture, make_layer(rings, group, DISCS, placed, known, rgb=True)]


def disc_rings(
    centres: np.ndarray, frame_shape: tuple[int, int], shape: tuple[int, ...]
) -> np.ndarray:
    """Rings around centres (x, y) of the frame, as RGBA bytes, finer than a picture of a shape."""
    height, width = RING_OVERSAMPLING * shape[0], RING_OVERSAMPLING * shape[1]
    rings = np.zeros((height, width, 4), np.uint8)
    rings[..., :3] = RING_COLOR  # also where nothing is seen, so that edges do not turn dark
    alpha = np.zeros((height, width), np.uint8)
    unit = 1 << RING_SHIFT
    for x, y in (centres + 0.5) * (width / frame_shape[1], height / frame_shape[0]) - 0.5:
        place = (round(x * unit), round(y * unit))
        cv2.circle(alpha, place, RING_RADIUS_PX * unit, 255, 2, cv2.LINE_AA, RING_SHIFT)
    rings[..., 3] = alpha
    return rings


def _over_field(calibration: Calibration, shape: tuple[int, ...]) -> dict[str, Any]:
    area = calibration.field
    scale = (area.height / shape[0], area.width / shape[1])
    return placement(scale, (area.top + (scale[0] - 1) / 2, area.left + (scale[1] - 1) / 2))


def _over(frame_shape: tuple[int, int], shape: tuple[int, ...]) -> dict[str, Any]:
    """Placement of a picture of this shape that fills the frame."""
    scale = (frame_shape[0] / shape[0], frame_shape[1] / shape[1])
    return placement(scale, ((scale[0] - 1) / 2, (scale[1] - 1) / 2))
