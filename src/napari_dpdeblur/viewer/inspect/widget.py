"""InspectWidget: inspect a multiplane image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from napari.utils.notifications import show_error
from qtpy.QtCore import QSize, Qt
from qtpy.QtWidgets import (
    QFormLayout,
    QFrame,
    QLabel,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.results.refocus.renderer import Shot
from napari_dpdeblur.viewer.inspect.canvas_state import CanvasState
from napari_dpdeblur.viewer.inspect.color_bar import DefocusBar, colors_of
from napari_dpdeblur.viewer.inspect.depth_panel import DepthPanel
from napari_dpdeblur.viewer.inspect.export_section import ExportSection
from napari_dpdeblur.viewer.inspect.layers_panel import LayersPanel
from napari_dpdeblur.viewer.inspect.refocus_panel import RefocusPanel
from napari_dpdeblur.viewer.inspect.refocus_view import RefocusRenderers
from napari_dpdeblur.viewer.inspect.source import (
    MpiSource,
    calibration_of,
    mpi_layers,
    mpi_source,
)
from napari_dpdeblur.viewer.inspect.weights_plot import WeightsPlot
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.layers.queries import unwrapped_viewer
from napari_dpdeblur.viewer.shared.controls import choice
from napari_dpdeblur.viewer.shared.dock import DockedWidget
from napari_dpdeblur.viewer.shared.timers import call_later

NOTHING_OPEN = (
    "No multiplane image is open. Fit a capture, or open a run folder with File > Open Folder."
)
NOTHING_UNDER_CURSOR = "Move the cursor over the image to read the defocus."
MIN_WIDTH_PX = 320
STEP_KEYS = {",": -1, ".": 1}


class InspectWidget(DockedWidget):
    """Browse the layers, read the cursor, refocus, look at the layers in 3D."""

    def __init__(self, napari_viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("inspect_widget")
        self._viewer = unwrapped_viewer(napari_viewer)
        self._canvas = CanvasState(self._viewer)
        self._source: MpiSource | None = None
        self._build()
        self._listen()
        self._refresh()

    @property
    def source(self) -> MpiSource | None:
        """The multiplane image that is inspected."""
        return self._source

    def _build(self) -> None:
        self.choice = choice("inspect_mpi", "Multiplane image to inspect.")
        self.choice.currentTextChanged.connect(self._on_choice)
        self.message = QLabel(NOTHING_OPEN, objectName="inspect_message", wordWrap=True)
        self.layers_panel = LayersPanel(self._viewer, self._canvas)
        self.refocus_panel = RefocusPanel(self._viewer, self._canvas)
        self.export = ExportSection(self._export_scene, self.refocus_panel)
        self.refocus_panel.layout().addWidget(self.export)
        self.refocus_panel.layout().addStretch()
        self.depth_panel = DepthPanel(self._viewer, self._canvas)
        self.tabs = QTabWidget(objectName="inspect_tabs")
        self.tabs.setToolTip("Ways to look at the multiplane image.")
        self.tabs.addTab(self.layers_panel, "Layers")
        self.tabs.addTab(self.refocus_panel, "Refocus")
        self.tabs.addTab(self.depth_panel, "Depth")
        self.reading = QLabel(NOTHING_UNDER_CURSOR, objectName="inspect_reading", wordWrap=True)
        self.reading.setToolTip("Defocus, side of the focus plane and distance under the cursor.")
        self.reading.setMinimumHeight(2 * self.reading.fontMetrics().lineSpacing())
        self.bar = DefocusBar(lambda: colors_of(self._source, self._viewer))
        self.plot = WeightsPlot()
        self._lay_out()

    def _lay_out(self) -> None:
        inside = QWidget()
        form = QFormLayout()
        form.addRow("Image", self.choice)
        layout = QVBoxLayout(inside)
        layout.addLayout(form)
        for widget in (self.message, self.tabs, self.reading, self.bar, self.plot):
            layout.addWidget(widget)
        layout.addStretch()
        scroll = QScrollArea(objectName="inspect_scroll", widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inside)
        scroll.setMinimumWidth(MIN_WIDTH_PX)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

    def _listen(self) -> None:
        self.tabs.currentChanged.connect(self._activate_tab)
        self.depth_panel.left.connect(self._activate_tab)
        self.depth_panel.distances.applied.connect(self._use_new_constants)
        for part in (self.layers_panel, self.refocus_panel, self.depth_panel, self.export):
            part.failed.connect(show_error)
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.connect(self._refresh)
        self._on_move, self._on_press = _weak(self, "_read_cursor"), _weak(self, "_click")
        self._viewer.mouse_move_callbacks.append(self._on_move)
        self._viewer.mouse_drag_callbacks.append(self._on_press)
        for key, steps in STEP_KEYS.items():
            action = _weak(self, "_step", steps)
            self._viewer.bind_key(key, action, overwrite=True)

    def sizeHint(self) -> QSize:
        """Qt: leave the width to the canvas."""
        return QSize(MIN_WIDTH_PX, super().sizeHint().height())

    def stop_all(self) -> None:
        """Stop all threads, disconnect from the viewer and restore it."""
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.disconnect(self._refresh)
        self._viewer.mouse_move_callbacks.remove(self._on_move)
        self._viewer.mouse_drag_callbacks.remove(self._on_press)
        for key in STEP_KEYS:
            self._viewer.bind_key(key, None)
        for part in (self.depth_panel, self.layers_panel, self.refocus_panel, self.export):
            part.stop()
        self._canvas.restore()
        if self._source is not None:
            self._source.layer.events.data.disconnect(self._on_new_data)

    def _refresh(self, _: Any = None) -> None:
        """The layer list has changed."""
        known = mpi_layers(self._viewer)
        shown = [self.choice.itemText(i) for i in range(self.choice.count())]
        if shown != list(known):
            current = self.choice.currentText()
            self.choice.blockSignals(True)
            self.choice.clear()
            self.choice.addItems(list(known))
            self.choice.setCurrentText(current if current in known else next(iter(known), ""))
            self.choice.blockSignals(False)
        self._on_choice()

    def _on_choice(self, _: Any = None) -> None:
        if self.is_closed:
            return
        layer = mpi_layers(self._viewer).get(self.choice.currentText())
        if layer is None:
            self._set_source(None)
        elif self._is_new(layer):
            self._set_source(mpi_source(self._viewer, layer))
            self._activate_tab()

    def _is_new(self, layer: Any) -> bool:
        """Whether a layer is another one, has new content, or its calibration was opened."""
        now = self._source
        if now is None or layer is not now.layer:
            return True
        info = layer_info(layer)
        if info is None or info.mpi is not now.stack:
            return True
        return calibration_of(self._viewer, info) is not now.calibration

    def _set_source(self, source: MpiSource | None) -> None:
        before, self._source = self._source, source
        if before is not None:
            before.layer.events.data.disconnect(self._on_new_data)
        if source is not None:
            source.layer.events.data.connect(self._on_new_data)
        for panel in (self.depth_panel, self.layers_panel, self.refocus_panel):
            panel.set_source(source)
        self.message.setVisible(source is None)
        for widget in (self.tabs, self.reading, self.bar, self.plot):
            widget.setVisible(source is not None)
        if source is not None:
            self.plot.set_scales(source.stack.defocus_scales)
            self.reading.setText(NOTHING_UNDER_CURSOR)
            self.bar.show_value(None)

    def _on_new_data(self, _: Any = None) -> None:
        """Another fit writes into the same layer: first the pixels, then what belongs to them."""
        call_later(self._on_choice)

    def _activate_tab(self, _: Any = None) -> None:
        panel = self.tabs.currentWidget()
        if panel is not self.refocus_panel:
            self.refocus_panel.deactivate()
        if panel is not self.depth_panel and self.depth_panel.toggle.isChecked():
            self.depth_panel.toggle.setChecked(False)  # comes back here when it has left
        elif self._source is not None and panel is not self.depth_panel:
            panel.activate()

    def _export_scene(self) -> tuple[RefocusRenderers, Shot] | None:
        """What to save, with separate renderers because the view keeps using its own."""
        if self._source is None:
            return None
        return RefocusRenderers(self._source, self.refocus_panel.lens), self.refocus_panel.shot

    def _step(self, steps: int, *_: Any) -> None:
        if self._source is not None:
            self.layers_panel.step(steps)

    def _read_cursor(self, viewer: Any, _: Any) -> None:
        self._show_reading(self._pixel_under_cursor())

    def _use_new_constants(self) -> None:
        """The layers have other lens constants: show distances with them."""
        if self._source is not None:
            self._set_source(mpi_source(self._viewer, self._source.layer))

    def _click(self, viewer: Any, event: Any) -> None:
        distances = self.depth_panel.distances
        picked = self._pixel_under_cursor() if distances.is_picking else None
        if picked is not None:
            distances.pick(picked)
            return
        pixel = self._pixel_under_cursor() if self.refocus_panel.clicks_focus else None
        if pixel is not None and self._source is not None:
            self.refocus_panel.focus_at(self._source.defocus_at(*pixel))

    def _pixel_under_cursor(self) -> tuple[int, int] | None:
        if self._source is None or self._viewer.dims.ndisplay == 3:
            return None
        return self._source.pixel_at(self._viewer.cursor.position)

    def _show_reading(self, pixel: tuple[int, int] | None) -> None:
        source = self._source
        if pixel is None or source is None:
            self.reading.setText(NOTHING_UNDER_CURSOR)
            self.bar.show_value(None)
            self.plot.clear()
            return
        weights, defocus = source.weights_at(*pixel), source.defocus_at(*pixel)
        self.bar.show_value(defocus)
        self.reading.setText(
            f"{source.place_text(defocus)}\n"
            f"Row {pixel[0]}, column {pixel[1]}, mostly layer {int(weights.argmax()) + 1}"
        )
        self.plot.show_weights(weights)


def _weak(owner: Any, method: str, *values: Any) -> Callable[..., None]:
    """A callback that holds its owner weakly and does nothing when it is gone."""
    target = ref(owner)

    def call(*arguments: Any) -> None:
        alive = target()
        if alive is not None:
            getattr(alive, method)(*values, *arguments)

    return call
