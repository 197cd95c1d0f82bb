"""What a fit does to the layer list besides its pictures: the field, the order, old layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_unselected
from napari_dpdeblur.viewer.layers.field import covers_frame, field_layer
from napari_dpdeblur.viewer.layers.hygiene import RemovedLayers, is_preview, raise_group
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue

Steps = list[Callable[[], object]]


class Housekeeping:
    """Keeps the layer list of a viewer in order while fits come and go."""

    def __init__(self, viewer: Any, tasks: GuiTaskQueue) -> None:
        self._viewer, self._tasks = viewer, tasks
        self.removed = RemovedLayers(viewer)

    def show_field(self, group: str, field: Crop) -> None:
        """Outline the calibrated field of an open capture, unless it is the whole frame."""
        capture = queries.captures(self._viewer).get(group)
        if capture is None:
            return
        height, width = capture.shape[-2:]
        if not covers_frame(field, (round(height * capture.pixel_aspect), width)):
            self._tasks.add([partial(put_unselected, self._viewer, field_layer(group, field))])

    def steps_after_result(self, group: str) -> Steps:
        """Tasks that remove what a new result replaces, and put its group in order on top."""
        old = [] if is_preview(group) else self.removed.steps_to_remove(group)
        return [*old, partial(raise_group, self._viewer, group)]

    def bring_back(self) -> None:
        """Restore the layers that the last result has replaced."""
        self._tasks.add(self.removed.steps_to_restore())

    def has_result(self, group: str) -> bool:
        """Whether layers of the result of a group are left."""
        layers = queries.group_layers(self._viewer, group)
        known = (layer_info(layer) for layer in layers)
        return any(info is not None and info.defocus_scales for info in known)
