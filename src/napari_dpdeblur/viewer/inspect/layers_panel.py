"""Panel "Layers": browse a multiplane image layer by layer."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.optics.mpi import transmittance
from napari_dpdeblur.viewer.inspect.canvas_state import LAYER_VIEW, CanvasState
from napari_dpdeblur.viewer.inspect.slider import FocusRuler
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.add import put_unselected
from napari_dpdeblur.viewer.layers.channels import BY_DEPTH, CHANNELS, TRANSPARENT, channel_data
from napari_dpdeblur.viewer.layers.convert import make_layer
from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo
from napari_dpdeblur.viewer.layers.placement import stacked
from napari_dpdeblur.viewer.layers.queries import layer_of
from napari_dpdeblur.viewer.layers.units import DefocusUnit
from napari_dpdeblur.viewer.shared.controls import choice
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

PREPARING = "Preparing the picture..."


class LayersPanel(QWidget):
    """Selects a layer and its displayed channel; follows napari's slider."""

    failed = Signal(str)

    def __init__(self, viewer: Any, canvas: CanvasState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer, self._canvas = viewer, canvas
        self._source: MpiSource | None = None
        self._unit = DefocusUnit()
        self._worker = LatestTask(self)
        self._worker.done.connect(self._show_view)
        self._worker.failed.connect(lambda _, text: self.failed.emit(text))
        self._build()
        viewer.dims.events.current_step.connect(self._follow_dims)

    def _build(self) -> None:
        self.channel = choice("inspect_channel", "What to show of each layer.")
        for number, (name, tip) in enumerate(CHANNELS.items()):
            self.channel.addItem(name)
            self.channel.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
        self.channel.currentTextChanged.connect(self.activate)
        self.slider = QSlider(Qt.Orientation.Horizontal, objectName="inspect_layer")
        self.slider.setToolTip(
            "Layer, from back (left) to front (right). The tick is the focus plane."
        )
        self.slider.valueChanged.connect(self._move_dims)
        self.ruler = FocusRuler(self.slider, "inspect_layer_focus")
        self.back = QPushButton("&Back", objectName="inspect_back")
        self.back.setToolTip("Previous layer, towards the back (comma on the canvas).")
        self.back.clicked.connect(lambda: self.step(-1))
        self.front = QPushButton("&Front", objectName="inspect_front")
        self.front.setToolTip("Next layer, towards the front (full stop on the canvas).")
        self.front.clicked.connect(lambda: self.step(1))
        self.text = QLabel(objectName="inspect_layer_text", wordWrap=True)
        self.text.setToolTip("Number, defocus and contribution of this layer.")
        self._lay_out()

    def _lay_out(self) -> None:
        steps = QHBoxLayout()
        for button in (self.back, self.front):
            steps.addWidget(button)
        form = QFormLayout()
        form.addRow("Show", self.channel)
        form.addRow("Layer", self.slider)
        form.addRow("", self.ruler)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addLayout(steps)
        layout.addWidget(self.text)
        layout.addStretch()

    def set_source(self, source: MpiSource | None) -> None:
        """Browse another multiplane image, or none."""
        self._source = source
        self._worker.drop()
        self.setEnabled(source is not None)
        if source is None:
            self.text.clear()
            return
        self.slider.setRange(0, source.layers - 1)
        self.ruler.mark(source.focus_layer)
        self._shares = source.stack.alpha[..., ::4, ::4]
        self._shares = transmittance(self._shares).mean(axis=(1, 2, 3))
        self._follow_dims()

    def set_unit(self, unit: DefocusUnit) -> None:
        """Describe the layers in another unit."""
        self._unit = unit
        self._describe(self.slider.value())

    def activate(self) -> None:
        """Show the chosen channel."""
        if self._source is None:
            return
        channel, source = self.channel.currentText(), self._source
        for control in (self.slider, self.back, self.front):
            control.setEnabled(channel != BY_DEPTH)  # which shows all layers at once
        self._describe(self.slider.value())
        if channel == TRANSPARENT:
            self._worker.drop()
            self._canvas.show(source.layer)
            self._move_dims(self.slider.value())
            return

        def work(_: IsSuperseded) -> LayerData:
            return channel_layer(source, channel)

        self.text.setText(f"{self.text.text()}\n{PREPARING}")
        self._worker.submit(work, source)

    def step(self, steps: int) -> None:
        """Move by some layers to the front, or to the back if negative."""
        self.slider.setValue(self.slider.value() + steps)

    def stop(self) -> None:
        """Stop the thread and disconnect from the viewer."""
        self._worker.stop()
        self._viewer.dims.events.current_step.disconnect(self._follow_dims)

    def _show_view(self, source: MpiSource, data: LayerData) -> None:
        if source is not self._source or source.layer not in self._viewer.layers:
            return
        old = layer_of(self._viewer, source.group, LAYER_VIEW)
        if old is not None:  # contrast and gamma of another channel do not fit
            remove_layer(self._viewer, old)
        layer = put_unselected(self._viewer, data)  # showing its controls would take as long
        self._canvas.show(layer)
        self._move_dims(self.slider.value())

    def _axis(self) -> int:
        return int(self._viewer.dims.ndim) - 3

    def _move_dims(self, number: int) -> None:
        if self._source is not None and self._axis() >= 0:
            self._viewer.dims.set_point(self._axis(), float(number))
        self._describe(number)

    def _follow_dims(self, _: Any = None) -> None:
        if self._source is None or self._axis() < 0 or self._viewer.dims.ndisplay == 3:
            return
        number = round(self._viewer.dims.point[self._axis()])
        if number != self.slider.value():
            self.slider.setValue(number)
        else:
            self._describe(number)

    def _describe(self, number: int) -> None:
        source = self._source
        if source is None or not 0 <= number < source.layers:
            return
        if self.channel.currentText() == BY_DEPTH:
            self.text.setText(f"All {source.layers} layers")
            return
        scale = float(source.stack.defocus_scales[number])
        # Counted as napari's slider does.
        self.text.setText(
            f"Layer {number} (0 is the farthest, {source.layers - 1} the nearest)\n"
            f"{self._unit.sentence(scale)}\n"
            f"Contributes {100 * self._shares[number]:.1f} % of the image"
        )


def channel_layer(source: MpiSource, channel: str) -> LayerData:
    """One channel of all layers, as a stack for napari's slider unless it shows all at once."""
    data, look = channel_data(source.stack, channel, source.white, source.colors)
    placed = source.placed()
    info = LayerInfo(LAYER_VIEW, source.group, channel=channel)
    layer = make_layer(data, info, placed if channel == BY_DEPTH else stacked(placed), **look)
    layer[1]["name"] = f"{source.layer.name} {channel.lower()}"
    return layer
