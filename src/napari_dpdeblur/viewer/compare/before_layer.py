"""The capture as a layer over its result, as far as a swipe has come."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.viewer.layers.add import block_layer_list, put_unselected
from napari_dpdeblur.viewer.layers.convert import hidden, image_layer
from napari_dpdeblur.viewer.layers.hygiene import PREVIEW_SUFFIX, remove_layer
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    BEFORE,
    LayerData,
    LayerInfo,
    layer_info,
)
from napari_dpdeblur.viewer.layers.placement import capture_placement
from napari_dpdeblur.viewer.layers.queries import group_layers, layer_of


def result_layer(viewer: Any, group: str) -> Any | None:
    """The all-in-focus image of a group."""
    return layer_of(viewer, group, ALL_IN_FOCUS)


def compared_group(viewer: Any, group: str) -> str:
    """The group with the result of a capture: its own, else that of its quick look."""
    preview = group + PREVIEW_SUFFIX
    has_preview_only = result_layer(viewer, group) is None and result_layer(viewer, preview)
    return preview if has_preview_only else group


def capture_of_result(viewer: Any, group: str) -> DualPixelCapture | None:
    """The capture that a result was made from, if its views are open."""
    for layer in group_layers(viewer, group.removesuffix(PREVIEW_SUFFIX)):
        info = layer_info(layer)
        if info is not None and info.capture is not None:
            return info.capture
    return None


def before_picture(capture: DualPixelCapture, group: str, result: Any) -> LayerData:
    """The mean of both views where the result lies, as a photograph shows it."""
    placed = capture_placement(capture)
    edges = np.asarray(result.extent.world)[:, -2:] + np.array([[-0.5], [0.5]]) * result.scale[-2:]
    scale, first = np.array(placed["scale"]), np.array(placed["translate"])
    pixels = np.round((edges - first) / scale + 0.5).astype(int)
    (top, left), (bottom, right) = np.clip(pixels, 0, capture.shape[-2:])
    image = capture.views[:, :, top:bottom, left:right].mean(axis=0, dtype=np.float32)
    placed = {**placed, "translate": tuple(first + scale * (top, left))}
    return image_layer(image, LayerInfo(BEFORE, group), placed)


class BeforeLayer:
    """Shows the left part of the captured picture over everything else."""

    def __init__(self, viewer: Any, data: LayerData) -> None:
        self._viewer = viewer
        self._pixels = data[0]
        self.layer = put_unselected(viewer, hidden(data))

    @property
    def is_there(self) -> bool:
        """Whether nobody has deleted the layer."""
        return self.layer in self._viewer.layers

    def show(self, share: float) -> None:
        """Cover this share of the width, from the left."""
        columns = round(share * self._pixels.shape[1])
        if not columns:
            self.layer.visible = False
            return
        self._raise()
        with block_layer_list(self._viewer):
            self.layer.data = self._pixels[:, :columns]
        if not self.layer.visible:
            self.layer.visible = True

    def remove(self) -> None:
        """Remove the layer."""
        remove_layer(self._viewer, self.layer)

    def _raise(self) -> None:
        layers = self._viewer.layers
        if layers.index(self.layer) != len(layers) - 1:
            layers.move(layers.index(self.layer), len(layers))
