"""A calibration as napari layers: kernels in their places, vignetting, detected discs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.viewer.layers import LayerData, hidden, make_layer, placement

KERNELS, VIGNETTING, TARGET, DISCS = "kernels", "vignetting", "target", "discs"
SIDES = ("left", "right")
# Left and right overlap to white; where they differ, the colours part like in an anaglyph.
KERNEL_COLORMAPS = ("red", "cyan")
KERNEL_GAMMA = 0.5
DISC_SIZE_PX = 8.0


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
    """The photographed target and the centres found on it, if the calibration was made by a run."""
    kept = calibration.diagnostics
    if not {"thumbnail", "discs"} <= set(kept):
        return []
    thumbnail, discs = kept["thumbnail"], kept["discs"]
    picture = make_layer(
        thumbnail,
        group,
        TARGET,
        _over_frame(calibration, thumbnail.shape),
        known,
        contrast_limits=(0.0, max(float(thumbnail.max()), 1e-6)),
    )
    points = make_layer(
        discs[:, [1, 0]],
        group,
        DISCS,
        placement((1.0, 1.0), (0.0, 0.0)),
        {**known, "deviations_px": discs[:, [3, 2]]},
        layer_type="points",
        size=DISC_SIZE_PX,
        face_color="transparent",
        border_color="lime",
    )
    return [picture, points]


def _over_field(calibration: Calibration, shape: tuple[int, ...]) -> dict[str, Any]:
    area = calibration.field
    scale = (area.height / shape[0], area.width / shape[1])
    return placement(scale, (area.top + (scale[0] - 1) / 2, area.left + (scale[1] - 1) / 2))


def _over_frame(calibration: Calibration, shape: tuple[int, ...]) -> dict[str, Any]:
    height, width = calibration.frame_shape
    scale = (height / shape[0], width / shape[1])
    return placement(scale, ((scale[0] - 1) / 2, (scale[1] - 1) / 2))
