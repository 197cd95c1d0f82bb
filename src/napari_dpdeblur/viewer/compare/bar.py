"""CompareBar: before and after, side by side, and the way to the result."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QSlider, QWidget

from napari_dpdeblur.viewer.compare.before_layer import (
    BeforeLayer,
    before_picture,
    capture_of_result,
    result_layer,
)
from napari_dpdeblur.viewer.compare.side_by_side import SideBySide
from napari_dpdeblur.viewer.layers.camera import grid_of, zoom_to
from napari_dpdeblur.viewer.layers.metadata import BEFORE, LEFT, RIGHT, LayerData, kind_of
from napari_dpdeblur.viewer.layers.queries import own_layers
from napari_dpdeblur.viewer.shared.controls import ignore_wheel, push_button
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

STEPS = 100
MIN_SWIPE_PX, SPACING_PX = 48, 4
NO_RESULT = "There is no result yet."
NO_VIEWS = "The views of this result are not open."


class CompareBar(QWidget):
    """Swipes or flips between the capture and what the canvas shows of its result."""

    failed = Signal(str)

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._group = ""
        self._before: BeforeLayer | None = None
        self._sides: SideBySide | None = None
        self._worker = LatestTask(self)
        self._worker.done.connect(self._add)
        self._worker.failed.connect(lambda _, text: self.failed.emit(text))
        self._build()
        self._lay_out()
        events = viewer.layers.events
        for event in (events.inserted, events.removed):
            event.connect(self._refresh)
        grid_of(viewer).events.enabled.connect(self._follow_grid)
        self._refresh()

    @property
    def is_busy(self) -> bool:
        """Whether the captured picture is being prepared."""
        return self._worker.is_busy

    def set_group(self, group: str) -> None:
        """Compare the result of another group."""
        if group != self._group:
            self.reset()
            self._group = group
        self._refresh()

    def reset(self) -> None:
        """Show the result alone again."""
        self._worker.drop()
        self.sides.setChecked(False)
        before, self._before = self._before, None
        if before is not None:
            before.remove()
        self._set_slider(0)

    def stop(self) -> None:
        """Restore the canvas, stop the thread and disconnect from the viewer."""
        self.reset()
        self._worker.stop()
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.disconnect(self._refresh)
        grid_of(self._viewer).events.enabled.disconnect(self._follow_grid)

    def _build(self) -> None:
        self.swipe = QSlider(Qt.Orientation.Horizontal, objectName="swipe")
        self.swipe.setRange(0, STEPS)
        self.swipe.valueChanged.connect(self._show)
        ignore_wheel(self.swipe)
        self.before = push_button("Before", "show_before", "", lambda: self.swipe.setValue(STEPS))
        self.after = push_button("After", "show_after", "", lambda: self.swipe.setValue(0))
        self.sides = QPushButton("Side by side", objectName="side_by_side", checkable=True)
        self.sides.toggled.connect(self._set_sides)
        self.zoom = push_button(
            "Zoom", "zoom_to_result", "Zoom to the result: fill the canvas with it", self._zoom
        )
        self._tips = {
            self.swipe: "Drag to the right to uncover the capture, from left to right",
            self.before: "Show the capture: the mean of both views",
            self.after: "Show the result",
            self.sides: "Show capture and result side by side in napari's grid; click again to "
            "return",
        }

    def _lay_out(self) -> None:
        self.swipe.setMinimumWidth(MIN_SWIPE_PX)
        # As wide as the panel, which must not become wider for it.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING_PX)
        row.addWidget(self.after)
        row.addWidget(self.swipe, stretch=1)
        for button in (self.before, self.sides, self.zoom):
            row.addWidget(button)

    def _refresh(self, _: Any = None) -> None:
        """Enable what is possible; the tooltips say why something is not."""
        if self._before is not None and not self._before.is_there:  # somebody has deleted it
            self._before = None
            self.sides.setChecked(False)
            self._set_slider(0)
        has_result = result_layer(self._viewer, self._group) is not None
        has_views = has_result and capture_of_result(self._viewer, self._group) is not None
        reason = "" if has_views else NO_VIEWS if has_result else NO_RESULT
        for control, tip in self._tips.items():
            control.setEnabled(has_views)
            control.setToolTip(f"{tip}. {reason}".strip())
        self.zoom.setEnabled(has_result)

    def _set_slider(self, value: int) -> None:
        self.swipe.blockSignals(True)
        self.swipe.setValue(value)
        self.swipe.blockSignals(False)

    def _show(self, _: int = 0) -> None:
        """Show as much of the capture as the slider says."""
        if self._before is None:
            self._prepare()
        elif self._sides is not None and self.swipe.value() < STEPS:
            self.sides.setChecked(False)
        elif self._sides is None:
            self._show_result()
            self._before.show(self.swipe.value() / STEPS)

    def _show_result(self) -> None:
        """Show the image if nothing of the result is visible."""
        image = result_layer(self._viewer, self._group)
        if image is not None and not self._shown(image).visible:
            image.visible = True

    def _prepare(self) -> None:
        group, viewer = self._group, self._viewer
        capture, result = capture_of_result(viewer, group), result_layer(viewer, group)
        if capture is None or result is None or self._worker.is_busy:
            return

        def work(_: IsSuperseded) -> LayerData:
            return before_picture(capture, group, result)

        self._worker.submit(work, group)

    def _add(self, group: str, data: LayerData) -> None:
        if group != self._group or result_layer(self._viewer, group) is None:
            return
        self._before = BeforeLayer(self._viewer, data)
        if self.sides.isChecked():
            self._set_sides(True)
        else:
            self._show()

    def _set_sides(self, is_on: bool) -> None:
        if not is_on:
            sides, self._sides = self._sides, None
            if sides is not None:
                sides.leave()
                self._set_slider(0)
                if self._before is not None and self._before.is_there:
                    self._before.show(0.0)
        elif self._before is None:
            self._prepare()
        else:
            self._set_slider(STEPS)
            self._before.show(1.0)
            image = result_layer(self._viewer, self._group)
            self._sides = SideBySide(self._viewer, self._before.layer, self._shown(image))

    def _shown(self, image: Any) -> Any:
        """The topmost visible layer where the image lies, else the image itself."""
        edges = image.extent.world[:, -2:]
        for layer in reversed(own_layers(self._viewer)):
            is_picture = kind_of(layer) not in (BEFORE, LEFT, RIGHT) and layer.visible
            if is_picture and ((layer.extent.world[:, -2:] - edges) ** 2).max() <= 1:
                return layer
        return image

    def _follow_grid(self, _: Any = None) -> None:
        """The user may leave the grid by napari's own button."""
        if self._sides is not None and not grid_of(self._viewer).enabled:
            self.sides.setChecked(False)

    def _zoom(self) -> None:
        image = result_layer(self._viewer, self._group)
        if image is not None:
            zoom_to(self._viewer, [image])
