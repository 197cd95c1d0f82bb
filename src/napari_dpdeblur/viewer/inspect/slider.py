"""A slider with a number field for one value, both for the keyboard, and a mark below a slider."""

from __future__ import annotations

import math
import time

from qtpy.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, QTimer, Signal
from qtpy.QtGui import QColor, QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QLineEdit, QSlider, QStyle, QStyleOptionSlider, QWidget
from superqt import QLabeledDoubleSlider

DECIMALS = 2
SINGLE_STEP, PAGE_STEP = 0.02, 0.2
KEY_STEPS = {
    Qt.Key.Key_Left: -SINGLE_STEP,
    Qt.Key.Key_Down: -SINGLE_STEP,
    Qt.Key.Key_Right: SINGLE_STEP,
    Qt.Key.Key_Up: SINGLE_STEP,
    Qt.Key.Key_PageDown: -PAGE_STEP,
    Qt.Key.Key_PageUp: PAGE_STEP,
    Qt.Key.Key_Home: -math.inf,
    Qt.Key.Key_End: math.inf,
}
# Without a graphics card every change draws the whole window anew. It waits this many times as
# long as the last drawing took, or until the picture comes that the slider moves: to draw both
# together leaves time to render the next one.
REST, MAX_REST_S = 5, 0.12
QUICK_S = 0.006  # no rest is needed after a drawing that was as quick
FOCUS, TICK_PX = "focus", 4
MARK_COLOR = "#8f929c"  # readable on light and dark themes


class FocusRuler(QWidget):
    """A tick with a word below a horizontal slider; hidden where the focus is beyond its ends."""

    def __init__(self, slider: QSlider, name: str, word: str = FOCUS) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip("The focus plane of the capture.")
        self._slider, self._word = slider, word
        self._value: float | None = None
        self.setFixedHeight(TICK_PX + self.fontMetrics().lineSpacing())
        self.mark(None)

    def mark(self, value: float | None) -> None:
        """Mark a value of the slider, which may lie between two steps, or none."""
        self._value = value
        self.setVisible(value is not None)
        self.update()

    def position_px(self) -> float | None:
        """Where the handle would be at the marked value, in pixels of this widget."""
        if self._value is None:
            return None
        slider, option = self._slider, QStyleOptionSlider()
        slider.initStyleOption(option)
        ends = []
        for end in (option.minimum, option.maximum):
            option.sliderPosition = end
            handle = slider.style().subControlRect(
                QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
            )
            ends.append(handle.left() + handle.width() / 2)
        span = max(float(slider.maximum()) - float(slider.minimum()), 1e-9)
        share = (self._value - float(slider.minimum())) / span
        offset = slider.mapToGlobal(QPoint(0, 0)).x() - self.mapToGlobal(QPoint(0, 0)).x()
        return float(offset + ends[0] + share * (ends[1] - ends[0]))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: draw the tick and the word."""
        x = self.position_px()
        if x is None:
            return
        painter = QPainter(self)
        painter.setPen(QPen(QColor(MARK_COLOR)))
        painter.drawLine(QPointF(x, 0.0), QPointF(x, TICK_PX))
        width = self.fontMetrics().horizontalAdvance(self._word) + 2
        left = min(max(x - width / 2, 0.0), self.width() - width)
        place = QRectF(left, TICK_PX, width, self.height() - TICK_PX)
        painter.drawText(place, Qt.AlignmentFlag.AlignHCenter, self._word)
        painter.end()


class ValueSlider(QLabeledDoubleSlider):
    """superqt's labelled slider with named parts, redrawn less often where drawing is slow.

    ``name`` is the object name; the parts are called ``name_slider`` and ``name_box``.
    """

    _painted = Signal(float)

    def __init__(self, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setDecimals(DECIMALS)
        self.slider, self.box = self.findChild(QSlider), self.findChild(QLineEdit)
        self.slider.setSingleStep(SINGLE_STEP)
        self.slider.setPageStep(PAGE_STEP)
        self.slider.installEventFilter(self)
        for part, part_name in ((self, name), (self.slider, "slider"), (self.box, "box")):
            part.setObjectName(name if part is self else f"{name}_{part_name}")
            part.setToolTip(tip)
            part.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFocusProxy(self.slider)
        self._has_news = False  # since it was drawn
        self._resting = QTimer(self)
        self._resting.setSingleShot(True)
        self._resting.timeout.connect(self.draw)
        # Queued: before any timer could move the slider again.
        self._painted.connect(self._rest_after, Qt.ConnectionType.QueuedConnection)
        self.valueChanged.connect(self._note_change)

    def value(self) -> float:
        """The value, to as many digits as are shown."""
        return round(float(super().value()), DECIMALS)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: superqt's slider for floats does not handle keys."""
        step = KEY_STEPS.get(event.key()) if event.type() == QEvent.Type.KeyPress else None
        if step is None:
            return bool(super().eventFilter(watched, event))
        self.setValue(min(max(self.value() + step, self.minimum()), self.maximum()))
        return True

    def _note_change(self, _: float) -> None:
        self._has_news = True

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: draw, then skip redraws for a while if the slider moves."""
        super().paintEvent(event)
        if self._has_news:
            self._has_news = False
            self._painted.emit(time.perf_counter())

    def draw(self) -> None:
        """Redraw now, because the window is drawn anyway."""
        self._resting.stop()
        self.setUpdatesEnabled(True)

    def _rest_after(self, begin_s: float) -> None:
        """Skip redraws for a while if drawing the window took long."""
        drawing_s = time.perf_counter() - begin_s
        if drawing_s > QUICK_S:
            self.setUpdatesEnabled(False)
            self._resting.start(round(1000 * min(REST * drawing_s, MAX_REST_S)))
