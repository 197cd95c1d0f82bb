"""napari's slider shows the layers of a multiplane image, also while that image is hidden."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary, ref

from napari_dpdeblur.viewer.layers.hygiene import newest_result
from napari_dpdeblur.viewer.layers.metadata import MPI
from napari_dpdeblur.viewer.layers.queries import described_layers, layer_of, own_layers

SETTLE_S = 0.3  # after layers have come or gone, in which no step is taken for a move of the slider
_browsers: WeakKeyDictionary[Any, SliderBrowser] = WeakKeyDictionary()


def follow_slider(viewer: Any) -> None:
    """Show the newest multiplane image when somebody moves napari's slider."""
    if viewer not in _browsers:
        _browsers[viewer] = SliderBrowser(viewer)


class SliderBrowser:
    """Shows a hidden multiplane image alone; whoever hides it again sees what was there before."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = ref(viewer)
        self._size, self._changed_s = _size(viewer), time.monotonic()
        self._hidden: list[Any] = []
        viewer.dims.events.current_step.connect(self._follow)

    def _follow(self, _: Any = None) -> None:
        viewer = self._viewer()
        if viewer is None:
            return
        before, self._size = self._size, _size(viewer)
        if before != self._size:  # a layer has come or gone; nobody has moved the slider
            self._changed_s = time.monotonic()
        elif time.monotonic() > self._changed_s + SETTLE_S and viewer.dims.ndisplay == 2:
            self._show(viewer)

    def _show(self, viewer: Any) -> None:
        if any(layer.visible and layer.ndim > 2 for layer in viewer.layers):
            return
        groups = [info.group for _, info in described_layers(viewer) if info.kind == MPI]
        stack = layer_of(viewer, newest_result(viewer, groups), MPI) if groups else None
        if stack is None:
            return
        self._hidden = [layer for layer in own_layers(viewer) if layer.visible]
        for layer in self._hidden:
            layer.visible = False
        stack.visible = True
        stack.events.visible.connect(self._restore)

    def _restore(self, event: Any) -> None:
        viewer, stack = self._viewer(), event.source
        if viewer is None or stack.visible:
            return
        stack.events.visible.disconnect(self._restore)
        hidden, self._hidden = self._hidden, []
        if not any(layer.visible for layer in own_layers(viewer)):  # another one was not chosen
            for layer in hidden:
                if layer in viewer.layers:
                    layer.visible = True


def _size(viewer: Any) -> tuple[int, ...]:
    return (viewer.dims.ndim, *viewer.dims.nsteps)
