"""Order among the layers: what a full result replaces is removed, and groups stay together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from napari_dpdeblur.viewer.layers.camera import keep_view
from napari_dpdeblur.viewer.layers.field import FIELD
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    CONFIDENCE,
    DEFOCUS_MAP,
    LEFT,
    MPI,
    RIGHT,
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    kind_of,
    layer_info,
)
from napari_dpdeblur.viewer.layers.queries import described_layers, group_layers

PREVIEW_SUFFIX = " preview"  # of the group of a quick look
PARTIAL_PREFIX = "partial "  # of the kinds that a cancelled fit leaves
# Bottom to top within a group; other kinds come on top.
ORDER = (
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    RIGHT,
    LEFT,
    FIELD,
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    CONFIDENCE,
    MPI,
)


def is_preview(group: str) -> bool:
    """Whether a group is that of a quick look."""
    return group.endswith(PREVIEW_SUFFIX)


def superseded(viewer: Any, group: str) -> list[Any]:
    """Layers that the full result of a group replaces: its quick looks and partial results."""
    return [
        layer
        for layer, info in described_layers(viewer)
        if info.group == group + PREVIEW_SUFFIX
        or (info.group == group and info.kind.startswith(PARTIAL_PREFIX))
    ]


class RemovedLayers:
    """Layers that were removed, to bring them back."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._layers: list[tuple[int, Any]] = []

    def __len__(self) -> int:
        return len(self._layers)

    def steps_to_remove(self, group: str) -> list[Callable[[], object]]:
        """Tasks that remove what the result of a group replaces; earlier ones are forgotten."""
        self._layers = []
        return [partial(self._remove, layer) for layer in superseded(self._viewer, group)]

    def _remove(self, layer: Any) -> None:
        layers = self._viewer.layers
        if layer in layers:
            self._layers.append((layers.index(layer), layer))
            with keep_view(self._viewer):
                remove_layer(self._viewer, layer)

    def steps_to_restore(self) -> list[Callable[[], object]]:
        """Tasks that bring the layers back, hidden, where they were."""
        removed, self._layers = self._layers, []
        return [partial(self._restore, *each) for each in reversed(removed)]

    def _restore(self, place: int, layer: Any) -> None:
        layers = self._viewer.layers
        if layer not in layers:
            layer.visible = False
            with keep_view(self._viewer):
                layers.insert(min(place, len(layers)), layer)


def remove_layer(viewer: Any, layer: Any) -> None:
    """Remove a layer, if it is there; shown before, as napari 0.9 may crash otherwise."""
    if layer in viewer.layers:
        layer.visible = True
        viewer.layers.remove(layer)


def raise_group(viewer: Any, group: str) -> None:
    """Put the layers of a group on top of all others, in the usual order."""
    wanted = sorted(group_layers(viewer, group), key=lambda layer: _rank(kind_of(layer)))
    places = [viewer.layers.index(layer) for layer in wanted]
    top = len(viewer.layers)
    if places and places != list(range(top - len(places), top)):
        viewer.layers.move_multiple(places, top)


def _rank(kind: str) -> int:
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def newest_result(viewer: Any, groups: list[str]) -> str:
    """The group to look at: that of the selected layer, else the topmost one.

    Quick looks come last.
    """
    active = viewer.layers.selection.active
    info = None if active is None else layer_info(active)
    if info is not None and info.group in groups:
        return info.group
    full = [group for group in groups if not is_preview(group)]
    return (full or groups)[-1]
