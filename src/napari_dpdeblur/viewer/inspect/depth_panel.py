"""Panel "3D": the layers of a multiplane image spread in depth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QFormLayout, QLabel, QPushButton, QSlider, QVBoxLayout, QWidget

from napari_dpdeblur.viewer.inspect.canvas_state import DEPTH_VIEW, CanvasState, camera_of
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import display_stack, make_layer
from napari_dpdeblur.viewer.layers.metadata import LayerInfo
from napari_dpdeblur.viewer.layers.placement import stacked
from napari_dpdeblur.viewer.layers.queries import own_layers
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

MAX_ATLAS_PX = 4096  # what every graphics driver accepts
MAX_PLANE_PX = 672
DEFAULT_SPREAD = 40  # percent of the picture's width, from the farthest to the nearest layer
TILT_DEG = 30.0
POSE = ("angles", "perspective", "zoom", "center")
PERSPECTIVE_DEG = 25.0
MARGIN = 0.75  # of the zoom that fits the picture seen from the front


@dataclass(frozen=True)
class Atlas:
    """All layers in one texture, with the texture coordinates of their corners."""

    texture: np.ndarray  # (h, w, 4) bytes
    corners: np.ndarray  # (L, 4, 2): u, v of top left, top right, bottom right, bottom left


@dataclass(frozen=True)
class _Before:
    """State of the viewer before it switched to 3D."""

    ndisplay: int
    point: tuple[float, ...]
    pose: dict[str, Any]
    shown: Any

    @classmethod
    def of(cls, viewer: Any) -> _Before:
        camera, dims = camera_of(viewer), viewer.dims
        pose = {name: getattr(camera, name) for name in POSE}
        shown = next((layer for layer in reversed(own_layers(viewer)) if layer.visible), None)
        return cls(dims.ndisplay, dims.point, pose, shown)

    def restore(self, viewer: Any) -> None:
        viewer.dims.ndisplay = self.ndisplay
        for name, value in self.pose.items():
            setattr(camera_of(viewer), name, value)
        if len(self.point) == viewer.dims.ndim:
            viewer.dims.point = self.point


class DepthPanel(QWidget):
    """Switches the 3D view on, and back to the previous state."""

    failed = Signal(str)
    left = Signal()

    def __init__(self, viewer: Any, canvas: CanvasState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer, self._canvas = viewer, canvas
        self._source: MpiSource | None = None
        self._layer: Any | None = None
        self._before: _Before | None = None
        self._looks_from_behind = False
        self._worker = LatestTask(self)
        self._worker.done.connect(self._show)
        self._worker.failed.connect(lambda _, text: self._fail(text))
        self._build()
        camera_of(viewer).events.angles.connect(self._sort)
        viewer.layers.events.removed.connect(self._on_removed)

    def _build(self) -> None:
        self.toggle = QPushButton("Show in &3D", objectName="inspect_3d", checkable=True)
        self.toggle.setToolTip(
            "Spread the layers in depth and view them from the side; drag in the canvas to "
            "rotate. Click again to return."
        )
        self.toggle.toggled.connect(self._set_shown)
        self.spread = QSlider(Qt.Orientation.Horizontal, objectName="inspect_spread")
        self.spread.setRange(5, 200)
        self.spread.setValue(DEFAULT_SPREAD)
        self.spread.setToolTip("Distance between the farthest and the nearest layer.")
        self.spread.valueChanged.connect(self._place)
        text = QLabel("Drag to rotate, scroll to zoom.")
        text.setWordWrap(True)
        form = QFormLayout()
        form.addRow("Spread", self.spread)
        layout = QVBoxLayout(self)
        layout.addWidget(self.toggle)
        layout.addLayout(form)
        layout.addWidget(text)
        layout.addStretch()

    def set_source(self, source: MpiSource | None) -> None:
        """Use another multiplane image or none; leaves 3D."""
        if source is not self._source:
            self.toggle.setChecked(False)
        self._source = source
        self.setEnabled(source is not None)

    def stop(self) -> None:
        """Leave 3D, stop the thread and disconnect from the viewer."""
        self.toggle.setChecked(False)
        self._worker.stop()
        camera_of(self._viewer).events.angles.disconnect(self._sort)
        self._viewer.layers.events.removed.disconnect(self._on_removed)

    def _set_shown(self, shown: bool) -> None:
        if not shown:
            self._leave()
        elif self._source is not None:
            source = self._source

            def work(_: IsSuperseded) -> Atlas:
                return make_atlas(source)

            self._worker.submit(work, source)

    def _show(self, source: MpiSource, atlas: Atlas) -> None:
        if source is not self._source or not self.toggle.isChecked():
            return
        self._before = _Before.of(self._viewer)
        vertices, faces = self._mesh(source)
        info = LayerInfo(DEPTH_VIEW, source.group)
        look = {"shading": "none", "blending": "translucent_no_depth"}
        texture = {"texture": atlas.texture, "texcoords": atlas.corners.reshape(-1, 2)}
        placed = stacked(source.placed())
        data = make_layer((vertices, faces), info, placed, "surface", **look, **texture)
        (self._layer,) = put_layers(self._viewer, [data])
        self._canvas.show(self._layer)
        self._turn()

    def _turn(self) -> None:
        dims, camera = self._viewer.dims, camera_of(self._viewer)
        dims.ndisplay = 3
        self._looks_from_behind = False
        self._place()
        self._viewer.reset_view()
        first, second, third = camera.angles
        camera.angles = (first, second + TILT_DEG, third)
        camera.perspective = PERSPECTIVE_DEG
        camera.zoom *= MARGIN

    def _leave(self) -> None:
        self._worker.drop()
        layer, self._layer = self._layer, None
        before, self._before = self._before, None
        if layer is not None and layer in self._viewer.layers:
            self._viewer.layers.remove(layer)
        if before is not None:
            before.restore(self._viewer)
            if self._source is not None:
                shown = before.shown if before.shown in self._viewer.layers else self._source.layer
                self._canvas.show(shown)
            self.left.emit()

    def _mesh(self, source: MpiSource) -> tuple[np.ndarray, np.ndarray]:
        """Corners of all planes, the nearest towards the viewer, and faces in drawing order."""
        height, width = source.shape
        depth = self.spread.value() / 100 * width
        scales = np.asarray(source.stack.defocus_scales, np.float64)
        span = max(float(np.ptp(scales)), 1e-9)
        z = (scales.max() - scales) / span * depth * self._toward_viewer()
        corners = np.array([(0, 0), (0, width), (height, width), (height, 0)], float) - 0.5
        vertices = np.empty((len(z), 4, 3))
        vertices[..., 0] = z[:, None]
        vertices[..., 1:] = corners
        order = np.arange(len(z))
        first = 4 * (order[::-1] if self._looks_from_behind else order)
        faces = first[:, None, None] + np.array([(0, 1, 2), (0, 2, 3)])
        return vertices.reshape(-1, 3), faces.reshape(-1, 3)

    def _toward_viewer(self) -> float:
        """Sign of the depth axis towards the camera in front."""
        orientation = getattr(camera_of(self._viewer), "orientation", None)
        towards = orientation is not None and str(orientation[0]).lower().endswith("towards")
        return 1.0 if towards else -1.0

    def _place(self, _: int = 0) -> None:
        if self._layer is not None and self._source is not None:
            self._layer.data = self._mesh(self._source)

    def _sort(self, _: Any = None) -> None:
        """Draw the farthest layer first from either side, as transparency requires."""
        if self._layer is None or self._viewer.dims.ndisplay != 3:
            return
        direction = camera_of(self._viewer).view_direction[-3]
        behind = direction * self._toward_viewer() > 0
        if behind != self._looks_from_behind:
            self._looks_from_behind = behind
            self._place()

    def _on_removed(self, event: Any) -> None:
        if event.value is self._layer:
            self.toggle.setChecked(False)

    def _fail(self, text: str) -> None:
        self.toggle.setChecked(False)
        self.failed.emit(text)


def make_atlas(source: MpiSource) -> Atlas:
    """All layers in one texture that is not larger than graphics drivers accept."""
    layers, (height, width) = source.layers, source.shape
    cols = math.ceil(math.sqrt(layers * height / width)) or 1
    rows = math.ceil(layers / cols)
    limit = min(MAX_ATLAS_PX / max(rows * height, cols * width), MAX_PLANE_PX / max(height, width))
    step = max(math.ceil(1 / limit), 1)
    planes = [
        cv2.resize(plane, None, fx=1 / step, fy=1 / step, interpolation=cv2.INTER_AREA)
        for plane in display_stack(source.stack, source.white)
    ]
    h, w = planes[0].shape[:2]
    texture = np.zeros((rows * h, cols * w, 4), np.uint8)
    corners = np.empty((layers, 4, 2))
    for number, plane in enumerate(planes):
        row, col = divmod(number, cols)
        texture[row * h : (row + 1) * h, col * w : (col + 1) * w] = plane
        # half a pixel inside, so that neighbours do not shine in; v runs upwards
        left, right = (col * w + 0.5) / (cols * w), ((col + 1) * w - 0.5) / (cols * w)
        top, bottom = 1 - (row * h + 0.5) / (rows * h), 1 - ((row + 1) * h - 0.5) / (rows * h)
        corners[number] = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return Atlas(texture, corners)
