"""Two layers side by side in napari's grid, and back."""

from __future__ import annotations

from typing import Any

from napari_dpdeblur.viewer.layers.camera import POSE, camera_of, grid_of

SHAPE, STRIDE = (1, 2), -1  # one row; the topmost layer, which is the capture, at the left


class SideBySide:
    """Switches the grid on for two layers; ``leave`` restores what was there before."""

    def __init__(self, viewer: Any, before: Any, after: Any) -> None:
        self._viewer = viewer
        self._visible = {layer: layer.visible for layer in viewer.layers}
        self._grid = {name: getattr(grid_of(viewer), name) for name in ("shape", "stride")}
        self._pose = {name: getattr(camera_of(viewer), name) for name in POSE}
        layers = viewer.layers
        # Next to each other: older versions of napari count hidden layers as well.
        layers.move(layers.index(before), layers.index(after) + 1)
        for layer in layers:
            wanted = layer is before or layer is after
            if layer.visible != wanted:
                layer.visible = wanted
        grid = grid_of(viewer)
        grid.shape, grid.stride = SHAPE, STRIDE
        grid.enabled = True
        viewer.reset_view()

    def leave(self) -> None:
        """Switch the grid off, and restore visibility and camera."""
        viewer = self._viewer
        grid_of(viewer).enabled = False
        for name, value in self._grid.items():
            setattr(grid_of(viewer), name, value)
        for layer, visible in self._visible.items():
            if layer in viewer.layers and layer.visible != visible:
                layer.visible = visible
        for name, value in self._pose.items():
            setattr(camera_of(viewer), name, value)
