"""Panel "Depth": the layers of a multiplane image in 3D, and distances in metres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QFormLayout, QLabel, QPushButton, QSlider, QVBoxLayout, QWidget

from napari_dpdeblur.results.refocus.mesh import LayerMesh, layer_meshes
from napari_dpdeblur.viewer.inspect.canvas_state import DEPTH_VIEW, CanvasState
from napari_dpdeblur.viewer.inspect.known_distances import KnownDistances
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.camera import camera_of
from napari_dpdeblur.viewer.layers.convert import display_stack, make_layer
from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import LayerInfo
from napari_dpdeblur.viewer.layers.placement import stacked
from napari_dpdeblur.viewer.layers.queries import own_layers
from napari_dpdeblur.viewer.shared.controls import choice
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

MAX_ATLAS_PX = 4096  # what every graphics driver accepts
MAX_PLANE_PX = 672
DEFAULT_SPREAD = 40  # percent of the picture's width, from the farthest to the nearest layer
TILT_DEG = 30.0
POSE = ("angles", "perspective", "zoom", "center")
PERSPECTIVE_DEG = 25.0
DEFOCUS, DISTANCE = "Defocus", "Distance"
FARTHEST = 4.0  # times the nearest distance: beyond, everything is far
MARGIN = 0.9  # of the zoom that fits the picture seen from the front


@dataclass(frozen=True)
class Atlas:
    """All layers in one texture, and their meshes."""

    texture: np.ndarray  # (h, w, 4) bytes
    boxes: np.ndarray  # (L, 4): u and v of the top left, then of the bottom right corner
    meshes: list[LayerMesh]

    def coordinates(self, shape: tuple[int, int]) -> np.ndarray:
        """Texture coordinates (N, 2) of the vertices of all meshes."""
        parts = []
        for (left, top, right, bottom), mesh in zip(self.boxes, self.meshes, strict=True):
            v, u = ((mesh.places + 0.5) / shape).T
            parts.append(np.stack([left + u * (right - left), top + v * (bottom - top)], axis=-1))
        return np.concatenate(parts)


@dataclass(frozen=True)
class _Before:
    """State of the viewer before it switched to 3D."""

    ndisplay: int
    point: tuple[float, ...]
    pose: dict[str, Any]
    shown: Any
    selected: tuple[Any, ...]

    @classmethod
    def of(cls, viewer: Any) -> _Before:
        camera, dims = camera_of(viewer), viewer.dims
        pose = {name: getattr(camera, name) for name in POSE}
        shown = next((layer for layer in reversed(own_layers(viewer)) if layer.visible), None)
        return cls(dims.ndisplay, dims.point, pose, shown, tuple(viewer.layers.selection))

    def restore(self, viewer: Any) -> None:
        viewer.dims.ndisplay = self.ndisplay
        for name, value in self.pose.items():
            setattr(camera_of(viewer), name, value)
        if len(self.point) == viewer.dims.ndim:
            viewer.dims.point = self.point

    def select_again(self, viewer: Any, otherwise: Any) -> None:
        """Select the layers that were selected, else another one."""
        kept = [layer for layer in self.selected if layer in viewer.layers]
        viewer.layers.selection = set(kept or [otherwise])


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
        self._meshes: list[LayerMesh] = []
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
        self.axis = choice(
            "inspect_depth_axis",
            "Place the layers by their defocus, or by their distance if the lens constants are "
            "known; what is farther than four times the nearest distance is drawn there.",
        )
        self.axis.addItems([DEFOCUS, DISTANCE])
        self.axis.currentTextChanged.connect(self._place)
        form.addRow("Spread", self.spread)
        form.addRow("Depth by", self.axis)
        self.distances = KnownDistances(self._viewer)
        self.distances.failed.connect(self.failed)
        layout = QVBoxLayout(self)
        layout.addWidget(self.toggle)
        layout.addLayout(form)
        layout.addWidget(text)
        layout.addWidget(self.distances)
        layout.addStretch()

    def set_source(self, source: MpiSource | None) -> None:
        """Use another multiplane image or none; leaves 3D."""
        if source is not self._source:
            self.toggle.setChecked(False)
        self._source = source
        self.distances.set_source(source)
        knows_distance = source is not None and source.lens_constants is not None
        self.axis.model().item(1).setEnabled(knows_distance)
        if not knows_distance:
            self.axis.setCurrentText(DEFOCUS)
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
        self._meshes = atlas.meshes
        vertices, faces = self._mesh(source, atlas.meshes)
        info = LayerInfo(DEPTH_VIEW, source.group)
        look = {"shading": "none", "blending": "translucent_no_depth"}
        texture = {"texture": atlas.texture, "texcoords": atlas.coordinates(source.shape)}
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
        if layer is not None:
            remove_layer(self._viewer, layer)
        if before is not None:
            before.restore(self._viewer)
            if self._source is not None:
                shown = before.shown if before.shown in self._viewer.layers else self._source.layer
                self._canvas.show(shown)
                before.select_again(self._viewer, shown)
            self.left.emit()

    def _mesh(self, source: MpiSource, meshes: list[LayerMesh]) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of all meshes, the nearest towards the viewer, and faces in drawing order."""
        depth = self.spread.value() / 100 * source.shape[1]
        near = self._nearness(source, np.concatenate([mesh.defocus for mesh in meshes]))
        places = np.concatenate([mesh.places for mesh in meshes])
        vertices = np.concatenate([depth * self._toward_viewer() * near[:, None], places], axis=1)
        first = np.cumsum([0, *(len(mesh.places) for mesh in meshes)])
        faces = [mesh.faces + start for mesh, start in zip(meshes, first, strict=False)]
        return vertices, np.concatenate(faces[::-1] if self._looks_from_behind else faces)

    def _nearness(self, source: MpiSource, defocus: np.ndarray) -> np.ndarray:
        """0 at the farthest vertex, 1 at the nearest, by defocus or by distance."""
        constants = source.lens_constants
        if self.axis.currentText() == DISTANCE and constants is not None:
            from napari_dpdeblur.calibration.distance import distance_m

            metres = distance_m(defocus, constants)
            far = np.minimum(metres, FARTHEST * metres.min())
        else:
            far = defocus
        return np.asarray((far.max() - far) / max(float(np.ptp(far)), 1e-9), np.float64)

    def _toward_viewer(self) -> float:
        """Sign of the depth axis towards the camera in front."""
        orientation = getattr(camera_of(self._viewer), "orientation", None)
        towards = orientation is not None and str(orientation[0]).lower().endswith("towards")
        return 1.0 if towards else -1.0

    def _place(self, _: Any = None) -> None:
        if self._layer is not None and self._source is not None:
            self._layer.data = self._mesh(self._source, self._meshes)

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
    """All layers in one texture that is not larger than graphics drivers accept, and meshes."""
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
    boxes = np.empty((layers, 4))
    for number, plane in enumerate(planes):
        row, col = divmod(number, cols)
        texture[row * h : (row + 1) * h, col * w : (col + 1) * w] = plane
        # half a pixel inside, so that neighbours do not shine in; v runs upwards
        left, right = (col * w + 0.5) / (cols * w), ((col + 1) * w - 0.5) / (cols * w)
        top, bottom = 1 - (row * h + 0.5) / (rows * h), 1 - ((row + 1) * h - 0.5) / (rows * h)
        boxes[number] = left, top, right, bottom
    return Atlas(texture, boxes, layer_meshes(source.stack))
