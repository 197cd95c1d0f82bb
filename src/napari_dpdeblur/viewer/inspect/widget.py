"""InspectWidget: inspect a multiplane image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from napari.utils.notifications import show_error
from qtpy.QtCore import QEvent, QSize
from qtpy.QtWidgets import QFormLayout, QLabel, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from napari_dpdeblur.results.refocus.renderer import Shot
from napari_dpdeblur.viewer.compare.bar import CompareBar
from napari_dpdeblur.viewer.fit.verdict import VerdictLabel
from napari_dpdeblur.viewer.inspect.canvas_state import CanvasState
from napari_dpdeblur.viewer.inspect.color_bar import ReadOut, colors_of
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
from napari_dpdeblur.viewer.layers.hygiene import is_preview, newest_result
from napari_dpdeblur.viewer.layers.metadata import group_of, layer_info
from napari_dpdeblur.viewer.layers.queries import unwrapped_viewer
from napari_dpdeblur.viewer.shared.controls import choice, lay_out_scrolling
from napari_dpdeblur.viewer.shared.dock import DockedWidget
from napari_dpdeblur.viewer.shared.timers import call_later

NOTHING_OPEN = (
    "No multiplane image is open. Fit a capture, or open a run folder with File > Open Folder."
)
MIN_WIDTH_PX = 320
SHOWN_MS = 300  # after which a panel that was put into a window is in front, or behind another one
STEP_KEYS = {",": -1, ".": 1}


class InspectWidget(DockedWidget):
    """Browse the layers, read the cursor, refocus, look at the layers in 3D."""

    def __init__(self, napari_viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("inspect_widget")
        self._viewer = unwrapped_viewer(napari_viewer)
        self._canvas = CanvasState(self._viewer)
        self._source: MpiSource | None = None
        self._is_away = False  # another panel is in front
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
        self.verdict = VerdictLabel("inspect_verdict", self)
        self.compare = CompareBar(self._viewer, self)
        self.layers_panel = LayersPanel(self._viewer, self._canvas)
        self.refocus_panel = RefocusPanel(self._viewer, self._canvas)
        self.refocus_panel.layout().addStretch()
        self.save_panel = QWidget()
        self.export = ExportSection(self._export_scene, self.save_panel)
        saving = QVBoxLayout(self.save_panel)
        saving.addWidget(self.export)
        saving.addStretch()
        self.depth_panel = DepthPanel(self._viewer, self._canvas)
        self.tabs = QTabWidget(objectName="inspect_tabs")
        self.tabs.setToolTip("Ways to look at the multiplane image.")
        self.tabs.addTab(self.layers_panel, "Layers")
        self.tabs.addTab(self.refocus_panel, "Refocus")
        self.tabs.addTab(self.depth_panel, "Depth")
        self.tabs.addTab(self.save_panel, "Save")
        self.read_out = ReadOut(lambda: colors_of(self._source, self._viewer))
        self.reading, self.bar = self.read_out.text, self.read_out.bar
        self.plot = WeightsPlot()
        self._lay_out()

    def _lay_out(self) -> None:
        chosen = QWidget()
        form = QFormLayout(chosen)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("Image", self.choice)
        parts = [chosen, self.message, self.verdict, self.compare, self.tabs, self.plot]
        lay_out_scrolling(self, parts, pinned=[self.read_out])
        self.findChild(QScrollArea, "scroll").setMinimumWidth(MIN_WIDTH_PX)

    def _listen(self) -> None:
        self.tabs.currentChanged.connect(self._activate_tab)
        self.depth_panel.left.connect(self._activate_tab)
        self.depth_panel.distances.applied.connect(self._use_new_constants)
        self.read_out.changed.connect(lambda: self.layers_panel.set_unit(self.read_out.chosen))
        panels = (self.layers_panel, self.refocus_panel, self.depth_panel)
        for part in (*panels, self.export, self.compare):
            part.failed.connect(show_error)
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.connect(self._refresh)
        self._viewer.layers.selection.events.active.connect(self._on_selection)
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
        self._viewer.layers.selection.events.active.disconnect(self._on_selection)
        self._viewer.mouse_move_callbacks.remove(self._on_move)
        self._viewer.mouse_drag_callbacks.remove(self._on_press)
        for key in STEP_KEYS:
            self._viewer.bind_key(key, None)
        panels = (self.depth_panel, self.layers_panel, self.refocus_panel)
        for part in (*panels, self.export, self.compare):
            part.stop()
        self._canvas.restore()
        if self._source is not None:
            self._source.layer.events.data.disconnect(self._on_new_data)

    def event(self, event: Any) -> bool:
        """Qt: the canvas belongs to this panel only while it is in front."""
        handled = super().event(event)
        kind = event.type()
        if kind == QEvent.Type.Hide and not event.spontaneous():
            self._step_back()
        elif kind == QEvent.Type.Show and self._is_away:
            self._is_away = False
            self._choose(newest=True)
        elif kind == QEvent.Type.ParentChange:
            call_later(self._check_place, SHOWN_MS)
        return handled

    def _check_place(self) -> None:
        """Step back if this is a page of a tab widget that is not in front."""
        window = self.window()
        if window is not self and window.isVisible() and not self.isVisible():
            self._step_back()

    def _step_back(self) -> None:
        """Restore the canvas as it was before."""
        if self.is_closed or self._is_away:
            return
        self._is_away = True
        self.refocus_panel.deactivate()
        self.depth_panel.toggle.setChecked(False)
        self.compare.reset()
        self._canvas.restore()

    def _refresh(self, _: Any = None) -> None:
        """The layer list has changed: a new result is shown, unless it is a quick look."""
        known = mpi_layers(self._viewer)
        shown = [self.choice.itemText(i) for i in range(self.choice.count())]
        if shown == list(known):
            self._on_choice()
            return
        current = self.choice.currentText()
        self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems(list(known))
        self.choice.setCurrentText(current)
        self.choice.blockSignals(False)
        new = [name for name in known if name not in shown]
        is_better = any(not is_preview(group_of(known[name])) for name in new)
        self._choose(newest=current not in known or is_better)

    def _choose(self, newest: bool) -> None:
        """Inspect what is chosen, or the selected or newest result."""
        known = mpi_layers(self._viewer)
        if newest and known:
            groups = {group_of(layer): name for name, layer in known.items()}
            chosen = groups[newest_result(self._viewer, list(groups))]
            self.choice.blockSignals(True)
            self.choice.setCurrentText(chosen)
            self.choice.blockSignals(False)
        self._on_choice()
        self._activate_tab()

    def _on_selection(self, _: Any = None) -> None:
        """Follow the selected layer to its result."""
        active = self._viewer.layers.selection.active
        group = "" if active is None else group_of(active)
        is_other = self._source is not None and group != self._source.group
        if is_other and not self._is_away:
            names = [n for n, layer in mpi_layers(self._viewer).items() if group_of(layer) == group]
            if names:
                self.choice.setCurrentText(names[-1])

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
        for panel in (self.depth_panel, self.layers_panel, self.refocus_panel, self.read_out):
            panel.set_source(source)
        self.compare.set_group("" if source is None else source.group)
        self.message.setVisible(source is None)
        for widget in (self.tabs, self.read_out, self.plot, self.compare):
            widget.setVisible(source is not None)
        self.verdict.show_verdict({} if source is None else source.verdict)
        if source is not None:
            self.plot.set_scales(source.stack.defocus_scales)

    def _on_new_data(self, _: Any = None) -> None:
        """Another fit writes into the same layer: first the pixels, then what belongs to them."""
        call_later(self._on_choice)

    def _activate_tab(self, _: Any = None) -> None:
        if self._is_away:
            return
        panel = self.tabs.currentWidget()
        if panel is self.save_panel:  # saves what is refocused
            panel = self.refocus_panel
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
            self.read_out.show_nothing()
            self.plot.clear()
            return
        weights, defocus = source.weights_at(*pixel), source.defocus_at(*pixel)
        # As in napari's status bar: pixels of the frame, not of the result.
        row, col = (round(float(value)) for value in self._viewer.cursor.position[-2:])
        self.read_out.show_pixel(defocus, (row, col), int(weights.argmax()))
        self.plot.show_weights(weights)


def _weak(owner: Any, method: str, *values: Any) -> Callable[..., None]:
    """A callback that holds its owner weakly and does nothing when it is gone."""
    target = ref(owner)

    def call(*arguments: Any) -> None:
        alive = target()
        if alive is not None:
            getattr(alive, method)(*values, *arguments)

    return call
