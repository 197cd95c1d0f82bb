"""Pictures of a running fit in the canvas, and its result as layers, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from qtpy.QtCore import QObject, QTimer

from napari_dpdeblur.jobs.fit_job import Box, FitOutcome
from napari_dpdeblur.jobs.messages import FloatArray, Progress
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.viewer import layers
from napari_dpdeblur.viewer.layers import LayerData, info
from napari_dpdeblur.viewer.show import put_layers

LIVE_IMAGE, LIVE_MAP = "live image", "live defocus map"
PARTIAL = {LIVE_IMAGE: "partial all-in-focus", LIVE_MAP: "partial defocus map"}
PIECE_MS = 30  # between the layers of a result, so that the window can do other things


class LivePreviews:
    """The layers "live image" and "live defocus map" of one fit.

    One that the user deletes stays away for the rest of the fit.
    """

    def __init__(self, viewer: Any, group: str) -> None:
        self._viewer = viewer
        self._group = group
        self._place: Box | None = None
        self._shown: dict[str, Any] = {}

    def update(self, event: Progress) -> None:
        """Show the pictures of a step."""
        self._place = event.found.get("place", self._place)
        for kind, picture in ((LIVE_MAP, event.defocus_map), (LIVE_IMAGE, event.all_in_focus)):
            if picture is not None and self._place is not None:
                self._show(kind, picture, self._place)

    def keep(self) -> list[str]:
        """Leave the last pictures as partial result; the names of their layers."""
        names = []
        for kind, layer in self._present().items():
            layer.name = layers.layer_name(self._group, PARTIAL[kind])
            layer.metadata = {layers.KEY: {**info(layer), "kind": PARTIAL[kind]}}
            names.append(layer.name)
        self._shown = {}
        return names

    def remove(self) -> None:
        """Take the pictures away, for the result takes their place."""
        for layer in self._present().values():
            self._viewer.layers.remove(layer)
        self._shown = {}

    def _present(self) -> dict[str, Any]:
        return {k: layer for k, layer in self._shown.items() if layer in self._viewer.layers}

    def _show(self, kind: str, picture: FloatArray, place: Box) -> None:
        layer = self._shown.get(kind)
        if layer is None:
            data = _live_layer(kind, picture, self._group, place)
            self._shown[kind] = put_layers(self._viewer, [data])[0]
        elif layer in self._viewer.layers:
            layer.data = _displayed(picture)
            layer.contrast_limits = _limits(kind, picture)


def _live_layer(kind: str, picture: FloatArray, group: str, place: Box) -> LayerData:
    placed = placement_in(place, picture.shape[:2])
    look: dict[str, Any] = {"contrast_limits": _limits(kind, picture)}
    if kind == LIVE_MAP:
        look["colormap"] = layers.preference("defocus_colormap")
    elif picture.ndim == 3:
        look["rgb"] = True
    else:
        look["gamma"] = layers.GAMMA
    return layers.make_layer(_displayed(picture), group, kind, placed, **look)


def _displayed(picture: FloatArray) -> np.ndarray:
    """Colours need the sRGB curve; one channel is shown by the layer's own gamma."""
    if picture.ndim == 2:
        return picture
    bright = picture / max(white_point(np.moveaxis(picture, -1, 0)), 1e-6)
    return np.clip(bright, 0.0, 1.0) ** np.float32(layers.GAMMA)


def _limits(kind: str, picture: FloatArray) -> tuple[float, float]:
    if kind == LIVE_MAP:
        low, high = float(picture.min()), float(picture.max())
        return low, max(high, low + 1e-6)
    if picture.ndim == 3:
        return 0.0, 1.0
    return 0.0, max(white_point(picture[None]), 1e-6)


def placement_in(place: Box, shape: Sequence[int]) -> dict[str, Any]:
    """Placement of a picture of any size that fills a box of the frame."""
    top, left, height, width = place
    scale = (height / shape[0], width / shape[1])
    return layers.placement(scale, (top + (scale[0] - 1) / 2, left + (scale[1] - 1) / 2))


def outcome_layers(outcome: FitOutcome, group: str) -> list[LayerData]:
    """The result as layers in its place, whatever its resolution; runs in any thread."""
    made = layers.run_layers(outcome.record, group, outcome.run_folder, outcome.calibration)
    placed = placement_in(outcome.place, outcome.record.defocus_map.shape)
    return [(data, {**options, **_deepened(placed, options)}, kind) for data, options, kind in made]


def _deepened(placed: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The same placement for a layer with more axes in front."""
    extra = len(options["scale"]) - 2
    return {
        "scale": (*options["scale"][:extra], *placed["scale"]),
        "translate": (*options["translate"][:extra], *placed["translate"]),
    }


class PiecewiseAdder(QObject):
    """Adds layers one after the other, so that none of them holds up the window for long."""

    def __init__(self, viewer: Any, parent: QObject) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._waiting: list[LayerData] = []
        self._done: Callable[[], None] = lambda: None
        self._timer = QTimer(self)
        self._timer.setInterval(PIECE_MS)
        self._timer.timeout.connect(self._next)

    def add(self, pieces: list[LayerData], done: Callable[[], None]) -> None:
        """Begin; ``done`` is called after the last one."""
        self._waiting, self._done = list(pieces), done
        self._timer.start()

    def _next(self) -> None:
        if self._waiting:
            put_layers(self._viewer, [self._waiting.pop(0)])
            return
        self._timer.stop()
        self._done()
