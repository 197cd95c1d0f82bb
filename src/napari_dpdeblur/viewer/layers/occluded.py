"""Hides layers below an opaque image: without a graphics card each layer costs time."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_dpdeblur.viewer.layers.queries import own_layers

TOLERANCE = 0.01  # of the side of a picture


class OccludedLayers:
    """Layers of this plugin below an image, hidden while it is visible."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._picture: Any | None = None
        self._hidden: list[Any] = []

    def hide_below(self, picture: Any) -> None:
        """Hide the layers that an image covers completely."""
        if picture not in self._viewer.layers or not picture.visible:
            return
        if self._picture is not picture:
            self._forget_picture()
            self._picture = picture
            picture.events.visible.connect(self._look)
            self._viewer.layers.events.removed.connect(self._look)
        place = self._viewer.layers.index(picture)
        for layer in own_layers(self._viewer):
            is_below = self._viewer.layers.index(layer) < place
            if is_below and layer.visible and _lies_inside(layer, picture):
                layer.visible = False
                self._hidden.append(layer)

    def leave_out(self, layer: Any) -> None:
        """Leave the visibility of this layer to others from now on."""
        self._hidden = [each for each in self._hidden if each is not layer]

    def restore(self) -> None:
        """Show the hidden layers again."""
        self._forget_picture()
        hidden, self._hidden = self._hidden, []
        for layer in hidden:
            if layer in self._viewer.layers:
                layer.visible = True

    def _look(self, event: Any = None) -> None:
        """The user may hide or delete the image to see what is below."""
        picture = self._picture
        if picture is None or picture not in self._viewer.layers or not picture.visible:
            self.restore()

    def _forget_picture(self) -> None:
        if self._picture is not None:
            self._picture.events.visible.disconnect(self._look)
            self._viewer.layers.events.removed.disconnect(self._look)
            self._picture = None


def _lies_inside(layer: Any, picture: Any) -> bool:
    inner, outer = (np.asarray(each.extent.world)[:, -2:] for each in (layer, picture))
    margin = TOLERANCE * (outer[1] - outer[0])
    return bool((inner[0] >= outer[0] - margin).all() and (inner[1] <= outer[1] + margin).all())
