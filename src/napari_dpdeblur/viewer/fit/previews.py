"""Preview layers of a running fit, and the steps from them to its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import Crop, FloatArray
from napari_dpdeblur.jobs.messages import Progress
from napari_dpdeblur.viewer.layers import convert, queries
from napari_dpdeblur.viewer.layers.add import block_layer_list, decorate, put_unselected, set_look
from napari_dpdeblur.viewer.layers.camera import keep_view
from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    LayerData,
    LayerInfo,
    layer_info,
    set_layer_info,
)
from napari_dpdeblur.viewer.layers.occluded import OccludedLayers
from napari_dpdeblur.viewer.layers.placement import box_placement
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue
from napari_dpdeblur.viewer.shared.timers import call_after_draw

LIVE_IMAGE, LIVE_MAP = "live image", "live defocus map"
FINAL = {LIVE_IMAGE: ALL_IN_FOCUS, LIVE_MAP: DEFOCUS_MAP}
PARTIAL = {kind: f"partial {final}" for kind, final in FINAL.items()}
MAX_SHARE = 0.05  # of the window's time that previews may take


class PreviewLayers:
    """The layers "live image" and "live defocus map" of one fit.

    One that the user deletes stays away for the rest of the fit. Making a layer costs napari a
    tenth of a second and more, so that the two never come at once, and become the result later.
    New pictures are shown as often as they take a small share of the window's time. What they
    cover is hidden meanwhile.
    """

    def __init__(self, viewer: Any, group: str, tasks: GuiTaskQueue) -> None:
        self._viewer = viewer
        self._group = group
        self._tasks = tasks
        self._occluded = OccludedLayers(viewer)
        self._place: Crop = (0, 0, 0, 0)
        self._has_place = False  # which comes with the first event of a fit
        self._shown: dict[str, Any] = {}
        self._added: list[Any] = []  # and still hidden
        self._newest: dict[str, FloatArray] = {}
        self._next_s = 0.0

    def update(self, event: Progress) -> None:
        """Show the previews of a step, now or with a later one."""
        if "place" in event.found:
            self._place, self._has_place = event.found["place"], True
        for kind, picture in ((LIVE_MAP, event.defocus_map), (LIVE_IMAGE, event.all_in_focus)):
            if picture is not None:
                self._newest[kind] = picture
        is_time = time.perf_counter() >= self._next_s and not self._tasks.is_busy
        if is_time and self._newest and self._has_place:
            self._show_newest()

    def keep(self) -> list[str]:
        """Keep the last previews as a partial result; return the names of their layers."""
        for kind in list(self._newest):
            if kind in self._shown:
                self._change(kind)
            elif not self._shown:  # a new layer takes time, and whoever cancels waits
                self._add(kind)
        self._reveal()
        present = self._present()
        self._end()
        for kind, layer in present.items():
            _rename(layer, self._group, PARTIAL[kind])
        return [layer.name for layer in present.values()]

    def steps_to_result(self, pieces: list[LayerData]) -> list[Callable[[], object]]:
        """Tasks that replace the previews by the result.

        A picture becomes the layer of its kind unless there is one of an earlier fit.
        """
        self._reveal()
        obsolete, decorations = [], []
        for kind, layer in self._present().items():
            self._occluded.leave_out(layer)
            if queries.layer_of(self._viewer, self._group, FINAL[kind]) is None:
                _rename(layer, self._group, FINAL[kind])
                decorations.append(partial(decorate, self._viewer, layer))
            else:
                obsolete.append(layer)
        self._shown, self._newest = {}, {}
        steps: list[Callable[[], object]] = [partial(_put, self._viewer, p) for p in pieces]
        steps += [partial(_remove, self._viewer, layer) for layer in obsolete]
        steps += [*decorations, partial(_raise_map, self._viewer, self._group), self._end]
        return steps

    def _end(self) -> None:
        self._shown, self._newest = {}, {}
        self._occluded.restore()

    def _present(self) -> dict[str, Any]:
        return {k: layer for k, layer in self._shown.items() if layer in self._viewer.layers}

    def _show_newest(self) -> None:
        begin = time.perf_counter()
        missing = [kind for kind in FINAL if kind in self._newest and kind not in self._shown]
        for kind in [kind for kind in self._newest if kind in self._shown]:
            self._change(kind)
        if missing:
            self._tasks.add([partial(self._add, missing[-1]), self._reveal])
        call_after_draw(self._rest_after, begin)

    def _rest_after(self, seconds: float) -> None:
        self._next_s = time.perf_counter() + seconds / MAX_SHARE

    def _add(self, kind: str) -> None:
        if kind in self._newest and kind not in self._shown:
            data = _live_layer(kind, self._newest.pop(kind), self._group, self._place)
            self._shown[kind] = put_unselected(self._viewer, convert.hidden(data))
            self._added.append(self._shown[kind])

    def _reveal(self) -> None:
        """Show added layers, as a separate task because each takes long."""
        added, self._added = self._added, []
        for layer in added:
            if layer in self._viewer.layers:
                layer.visible = True
                self._occluded.hide_below(layer)

    def _replace(self, kind: str) -> None:
        """Show a picture in colour after grey ones, for which napari needs another layer."""
        old = self._shown.pop(kind)
        is_visible = old.visible
        self._occluded.leave_out(old)
        _remove(self._viewer, old)
        self._add(kind)
        if is_visible:
            self._reveal()

    def _change(self, kind: str) -> None:
        layer, picture = self._shown[kind], self._newest[kind]
        if layer in self._viewer.layers and picture.ndim == 3 and not getattr(layer, "rgb", False):
            self._replace(kind)
            return
        del self._newest[kind]
        if layer in self._viewer.layers:
            if getattr(layer, "rgb", False) and picture.ndim == 2:
                picture = np.repeat(picture[..., None], 3, axis=-1)
            data, options, _ = _live_layer(kind, picture, self._group, self._place)
            with block_layer_list(self._viewer):
                layer.data = data
                set_look(layer, options)


def _rename(layer: Any, group: str, kind: str) -> None:
    layer.name = convert.layer_name(group, kind)
    set_layer_info(layer, replace(layer_info(layer) or LayerInfo(kind, group), kind=kind))


def _put(viewer: Any, piece: LayerData) -> None:
    put_unselected(viewer, piece).visible = piece[1].get("visible", True)


def _raise_map(viewer: Any, group: str) -> None:
    """Put the map above the image, so that a click on its eye shows it."""
    image = queries.layer_of(viewer, group, ALL_IN_FOCUS)
    defocus_map = queries.layer_of(viewer, group, DEFOCUS_MAP)
    if image in viewer.layers and defocus_map in viewer.layers:
        place, wanted = viewer.layers.index(defocus_map), viewer.layers.index(image)
        if place < wanted:
            viewer.layers.move(place, wanted + 1)


def _remove(viewer: Any, layer: Any) -> None:
    with keep_view(viewer):
        remove_layer(viewer, layer)


def _live_layer(kind: str, picture: FloatArray, group: str, place: Crop) -> LayerData:
    placed = box_placement(place, picture.shape[:2])
    info = LayerInfo(kind, group)
    if kind != LIVE_MAP:
        return convert.image_layer(_planes(picture), info, placed)
    layer = convert.defocus_layer(picture, info, placed)
    # The unit asks for a colour bar, which takes as long as a layer: it comes with the result.
    set_layer_info(layer, info)
    return layer


def _planes(picture: FloatArray) -> FloatArray:
    """(h, w) or (h, w, 3) as (C, h, w)."""
    return picture[None] if picture.ndim == 2 else np.moveaxis(picture, -1, 0)
