"""Panel "Refocus": focus, aperture and view."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QGridLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.results.refocus.aperture import DEFAULT_RADIUS_PX
from napari_dpdeblur.results.refocus.renderer import LEFT, RIGHT, Shot
from napari_dpdeblur.viewer.inspect.canvas_state import REFOCUSED, CanvasState
from napari_dpdeblur.viewer.inspect.refocus_view import (
    Lens,
    RefocusedImage,
    RefocusView,
    default_radius_px,
    focus_range,
    sway_shots,
)
from napari_dpdeblur.viewer.inspect.slider import FocusRuler, ValueSlider
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.metadata import kind_of
from napari_dpdeblur.viewer.layers.queries import layer_of
from napari_dpdeblur.viewer.shared.controls import choice

CALIBRATED, ROUND = "Calibrated kernels", "Round aperture"
VIEWS = {"Both views": (LEFT, RIGHT), "Left view": (LEFT,), "Right view": (RIGHT,)}
MAX_APERTURE = 3.0
NO_CALIBRATION = (
    "The calibration of this result is not open; a round aperture is used instead. Open the "
    "calibration file to refocus with the measured kernels."
)


class RefocusPanel(QWidget):
    """Turns its controls into shots; the view renders them."""

    failed = Signal(str)

    def __init__(self, viewer: Any, canvas: CanvasState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer, self._canvas = viewer, canvas
        self._source: MpiSource | None = None
        self._is_active = False
        self.view = RefocusView(viewer, self)
        self.view.shown.connect(self._on_shown)
        self.view.failed.connect(self._on_failed)
        self._build()
        viewer.layers.events.removed.connect(self._on_removed)

    @property
    def shot(self) -> Shot:
        """The shot that the controls describe."""
        views = VIEWS[self.side.currentText()]
        return Shot(self.focus.value(), self.aperture.value(), views)

    @property
    def lens(self) -> Lens:
        """The lens that the controls describe."""
        return Lens(self.lens_kind.currentText() == CALIBRATED, self.radius.value())

    @property
    def clicks_focus(self) -> bool:
        """Whether a click in the canvas sets the focus."""
        return self._is_active and self.by_click.isChecked()

    def set_source(self, source: MpiSource | None) -> None:
        """Refocus another multiplane image, or none."""
        self.view.cancel()
        self._source = source
        self.setEnabled(source is not None)
        if source is None:
            self.view.set_scene(None, self.lens)
            self.status.clear()
            return
        controls = (self.lens_kind, self.radius, self.focus, self.aperture, self.rock)
        for control in controls:
            control.blockSignals(True)
        is_calibrated = source.calibration is not None
        item = self.lens_kind.model().item(0)
        item.setEnabled(is_calibrated)
        self.lens_kind.setCurrentText(CALIBRATED if is_calibrated else ROUND)
        self.radius.setValue(default_radius_px(source) or DEFAULT_RADIUS_PX)
        self.focus.setRange(*focus_range(source))
        self.focus.setValue(0.0)
        self.ruler.mark(0.0)
        self.aperture.setValue(1.0)
        self.rock.setChecked(False)
        for control in controls:
            control.blockSignals(False)
        self._enable_radius()
        self.status.clear()
        self.note.setVisible(not is_calibrated)

    def activate(self) -> None:
        """Show the refocused image."""
        self._is_active = True
        self._request()

    def deactivate(self) -> None:
        """Leave the canvas to another panel."""
        self._is_active = False
        self.view.cancel()

    def stop(self) -> None:
        """Stop the thread and disconnect from the viewer."""
        self.view.stop()
        self._viewer.layers.events.removed.disconnect(self._on_removed)

    def focus_at(self, defocus: float) -> None:
        """Bring everything of this defocus scale into focus."""
        self.focus.setValue(defocus)

    def _build(self) -> None:
        self.lens_kind = choice(
            "inspect_lens",
            "Blur with the calibrated kernels of the camera, or with an ideal round aperture.",
        )
        self.lens_kind.addItems([CALIBRATED, ROUND])
        self.lens_kind.currentTextChanged.connect(self._on_lens)
        self.radius = QDoubleSpinBox(objectName="inspect_radius", suffix=" px")
        self.radius.setRange(0.5, 60.0)
        self.radius.setValue(DEFAULT_RADIUS_PX)
        self.radius.setKeyboardTracking(False)
        self.radius.setToolTip("Radius of the blur disc of the round aperture at defocus scale 1.")
        self.radius.valueChanged.connect(self._request)
        self.focus = ValueSlider(
            "inspect_focus",
            "Defocus scale in focus: 0 is the focus of the capture, negative values are in front "
            "of it, positive ones behind.",
        )
        self.ruler = FocusRuler(self.focus.slider, "inspect_focus_captured", "captured")
        self.focus.valueChanged.connect(self._request)
        self.aperture = ValueSlider(
            "inspect_aperture",
            "Size of the aperture: 1 is the lens of the capture, 0 is all in focus.",
        )
        self.aperture.setRange(0.0, MAX_APERTURE)
        self.aperture.setValue(1.0)
        self.aperture.valueChanged.connect(self._request)
        self._build_buttons()
        self._lay_out()

    def _build_buttons(self) -> None:
        self.side = choice(
            "inspect_side", "Look through the whole aperture, or through its left or right half."
        )
        self.side.addItems(list(VIEWS))
        self.side.currentTextChanged.connect(self._request)
        self.rock = QPushButton("Roc&k", objectName="inspect_rock", checkable=True)
        self.rock.setToolTip(
            "Alternate between the left and right views to see the parallax; with the aperture "
            "closed (All in focus), move the sharp layers from side to side."
        )
        self.rock.toggled.connect(self._request)
        self.by_click = QPushButton("Focus by c&lick", objectName="inspect_click", checkable=True)
        self.by_click.setToolTip("While pressed, click in the canvas to focus there.")
        self.captured = QPushButton("As &captured", objectName="inspect_as_captured")
        self.captured.setToolTip("Restore the focus and aperture of the capture.")
        self.captured.clicked.connect(lambda: self._set(0.0, 1.0))
        self.sharp = QPushButton("&All in focus", objectName="inspect_all_in_focus")
        self.sharp.setToolTip("Close the aperture to bring everything into focus.")
        self.sharp.clicked.connect(lambda: self._set(self.focus.value(), 0.0))
        self.note = QLabel(NO_CALIBRATION, objectName="inspect_lens_note", wordWrap=True)
        self.status = QLabel(objectName="inspect_status", wordWrap=True)
        self.status.setToolTip("Size of the image, and rendering time.")

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("Focus", self.focus)
        form.addRow("", self.ruler)
        form.addRow("Aperture", self.aperture)
        form.addRow("View", self.side)
        form.addRow("Lens", self.lens_kind)
        form.addRow("Radius", self.radius)
        buttons = QGridLayout()
        for number, button in enumerate((self.captured, self.sharp, self.by_click, self.rock)):
            buttons.addWidget(button, *divmod(number, 2))
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addLayout(buttons)
        layout.addWidget(self.note)
        layout.addWidget(self.status)

    def _set(self, focus: float, aperture: float) -> None:
        self.focus.setValue(focus)
        self.aperture.setValue(aperture)

    def _on_lens(self) -> None:
        self._enable_radius()
        self._request()

    def _enable_radius(self) -> None:
        self.radius.setEnabled(self.lens_kind.currentText() == ROUND)

    def _request(self, _: Any = None) -> None:
        self.side.setEnabled(not self.rock.isChecked())
        if not self._is_active or self._source is None:
            return
        self.view.set_scene(self._source, self.lens)
        shot = self.shot
        if self.rock.isChecked() and shot.aperture == 0:
            # the views through a closed aperture are all the same: move the sharp layers
            self.view.request(*sway_shots(shot.focus))
        elif self.rock.isChecked():
            sides = ((LEFT,), (LEFT, RIGHT), (RIGHT,))
            self.view.request(*(Shot(shot.focus, shot.aperture, side) for side in sides))
        else:
            self.view.request(shot)

    def _on_shown(self, picture: RefocusedImage) -> None:
        group = "" if self._source is None else self._source.group
        layer = layer_of(self._viewer, group, REFOCUSED)
        if self._is_active and layer is not None:
            self._canvas.show(layer)
        for slider in (self.focus, self.aperture):
            slider.draw()
        self.status.setText(_described(picture))

    def _on_failed(self, text: str) -> None:
        self.status.setText(text)
        self.failed.emit(text)

    def _on_removed(self, event: Any) -> None:
        if self._source is not None and kind_of(event.value) == REFOCUSED:
            self.view.cancel()
            self.rock.blockSignals(True)
            self.rock.setChecked(False)
            self.rock.blockSignals(False)


def _described(picture: RefocusedImage) -> str:
    """Size and time; constant text for previews, because redrawing it takes time."""
    height, width = picture.rendered_px
    size = f"{width} x {height} px"
    if picture.shot.sway:
        return f"Sharp parallax, {size}"
    return f"Full size, {size}, {picture.seconds:.2f} s" if picture.is_full else f"Preview, {size}"
