"""What the canvas shows while something is inspected, and how it was before."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from napari_dpdeblur.viewer.layers.metadata import kind_of
from napari_dpdeblur.viewer.layers.queries import own_layers

LAYER_VIEW, REFOCUSED, DEPTH_VIEW = "layer view", "refocused", "3D layers"
INSPECTED = (LAYER_VIEW, REFOCUSED, DEPTH_VIEW)  # layers that only the inspection makes


class CanvasState:
    """Shows one layer alone; remembers which ones were visible before."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._before: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def show(self, shown: Any) -> None:
        """Make a layer visible and hide the other layers of ours."""
        for layer in own_layers(self._viewer):
            self._before.setdefault(layer, layer.visible and kind_of(layer) not in INSPECTED)
            if layer.visible != (layer is shown):
                layer.visible = layer is shown

    def restore(self) -> None:
        """Give all layers that are still there the visibility they had; take the helpers away.

        A refocused picture stays, hidden: it is a result.
        """
        for layer, visible in list(self._before.items()):
            if layer not in self._viewer.layers:
                continue
            if kind_of(layer) in (LAYER_VIEW, DEPTH_VIEW):
                self._viewer.layers.remove(layer)
            else:
                layer.visible = visible
        self._before.clear()


def camera_of(viewer: Any) -> Any:
    """The camera, wherever this version of napari keeps it."""
    scene = getattr(viewer, "scene", None)  # since napari 0.9
    return viewer.camera if scene is None else scene.camera
