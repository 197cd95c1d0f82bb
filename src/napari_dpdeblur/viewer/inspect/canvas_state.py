"""Visibility of layers during inspection, and how to restore it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import BEFORE, kind_of
from napari_dpdeblur.viewer.layers.queries import own_layers

LAYER_VIEW, REFOCUSED, DEPTH_VIEW = "layer view", "refocused", "3D layers"
INSPECTED = (LAYER_VIEW, REFOCUSED, DEPTH_VIEW)  # layers that only the inspection makes


class CanvasState:
    """Shows one layer alone and remembers which ones were visible before."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._before: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def show(self, shown: Any) -> None:
        """Show a layer and hide the other layers of this plugin.

        The capture stays while it is compared with what is shown.
        """
        for layer in own_layers(self._viewer):
            if kind_of(layer) == BEFORE:
                continue
            self._before.setdefault(layer, layer.visible and kind_of(layer) not in INSPECTED)
            if layer.visible != (layer is shown):
                layer.visible = layer is shown

    def restore(self) -> None:
        """Restore the visibility of all layers and remove helper layers.

        A refocused picture stays, hidden: it is a result.
        """
        for layer, visible in list(self._before.items()):
            if layer not in self._viewer.layers:
                continue
            if kind_of(layer) in (LAYER_VIEW, DEPTH_VIEW):
                remove_layer(self._viewer, layer)
            else:
                layer.visible = visible
        self._before.clear()
