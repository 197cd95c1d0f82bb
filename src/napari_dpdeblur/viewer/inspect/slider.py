"""A slider and a number field for one value; both work with the keyboard."""

from __future__ import annotations

import time

from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtGui import QPaintEvent
from qtpy.QtWidgets import QDoubleSpinBox, QHBoxLayout, QSlider, QWidget

STEPS = 100  # per unit
SINGLE_STEP, PAGE_STEP = 2, 20  # of a key
# Without a graphics card every change draws the whole window anew. It waits this many times as
# long as the last drawing took, or until the picture comes that the slider moves: to draw both
# together leaves time to render the next one.
REST, MAX_REST_S = 5, 0.12
QUICK_S = 0.006  # no rest is needed after a drawing that was as quick


class ValueSlider(QWidget):
    """``name`` is the object name; the parts are called ``name_slider`` and ``name_box``."""

    valueChanged = Signal(float)
    _painted = Signal(float)

    def __init__(self, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.slider = QSlider(Qt.Orientation.Horizontal, objectName=f"{name}_slider")
        self.slider.setSingleStep(SINGLE_STEP)
        self.slider.setPageStep(PAGE_STEP)
        self.box = QDoubleSpinBox(objectName=f"{name}_box", decimals=2)
        self.box.setSingleStep(SINGLE_STEP / STEPS)
        self.box.setKeyboardTracking(False)
        self.box.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.box.setFixedWidth(self.box.fontMetrics().horizontalAdvance("-00.00") + 16)
        for part in (self, self.slider, self.box):
            part.setToolTip(tip)
        self.setFocusProxy(self.slider)
        self._has_news = False  # since it was drawn
        self._resting = QTimer(self)
        self._resting.setSingleShot(True)
        self._resting.timeout.connect(self.draw)
        # Queued: before any timer could move the slider again.
        self._painted.connect(self._rest_after, Qt.ConnectionType.QueuedConnection)
        self.slider.valueChanged.connect(lambda steps: self.box.setValue(steps / STEPS))
        self.box.valueChanged.connect(self._on_box)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.slider, 1)
        layout.addWidget(self.box)

    def setRange(self, lowest: float, highest: float) -> None:
        """Smallest and largest value."""
        self.box.setRange(lowest, highest)
        self.slider.setRange(round(lowest * STEPS), round(highest * STEPS))

    def value(self) -> float:
        """The value, to two digits."""
        return float(self.box.value())

    def setValue(self, value: float) -> None:
        """Change the value; ``valueChanged`` follows when it is another one."""
        self.box.setValue(value)

    def _on_box(self, value: float) -> None:
        self.slider.blockSignals(True)
        self.slider.setValue(round(value * STEPS))
        self.slider.blockSignals(False)
        self._has_news = True
        self.valueChanged.emit(value)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; while the slider moves, leave what comes next undrawn for a while."""
        super().paintEvent(event)
        if self._has_news:
            self._has_news = False
            self._painted.emit(time.perf_counter())

    def draw(self) -> None:
        """End a rest, because the window is drawn now anyway."""
        self._resting.stop()
        self.setUpdatesEnabled(True)

    def _rest_after(self, begin_s: float) -> None:
        """Rest, now that all of the window has been drawn."""
        drawing_s = time.perf_counter() - begin_s
        if drawing_s > QUICK_S:
            self.setUpdatesEnabled(False)
            self._resting.start(round(1000 * min(REST * drawing_s, MAX_REST_S)))
