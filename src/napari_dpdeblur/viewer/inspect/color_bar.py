"""The read-out of the pixel under the cursor, with a colour bar of the defocus map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from qtpy.QtCore import QPointF, QRectF, Qt, Signal
from qtpy.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, QPolygonF
from qtpy.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from napari_dpdeblur.results.defocus_colors import ColorScale
from napari_dpdeblur.viewer.inspect.slider import FOCUS, MARK_COLOR, TICK_PX
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.metadata import DEFOCUS_MAP
from napari_dpdeblur.viewer.layers.queries import layer_of
from napari_dpdeblur.viewer.layers.units import DEFOCUS, DISTANCE, UNITS, DefocusUnit
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import choice, ignore_wheel

SECTION = "inspect"
NOTHING_UNDER_CURSOR = "Move the cursor over the image to read the defocus."
BAR_PX, MARGIN_PX = 12, 6
SAMPLES = 257


class DefocusBar(QWidget):
    """The colours from front to back; ``colors`` is asked for them at each drawing."""

    def __init__(self, colors: Callable[[], ColorScale | None]) -> None:
        super().__init__()
        self.setObjectName("inspect_color_bar")
        self.setToolTip(
            "Colours of the defocus map, from front to back. The tick is the focus plane, the "
            "triangle the pixel under the cursor."
        )
        self._colors = colors
        self._value: float | None = None
        self._unit = DefocusUnit()
        line_px = self.fontMetrics().lineSpacing()
        self.setFixedHeight(TICK_PX + BAR_PX + TICK_PX + line_px)

    def show_value(self, defocus: float | None) -> None:
        """Mark a defocus scale, or none."""
        self._value = defocus
        self.update()

    def set_unit(self, unit: DefocusUnit) -> None:
        """Name the ends and the focus in another unit."""
        self._unit = unit
        self.update()

    def position_px(self, defocus: float) -> float | None:
        """Where a defocus scale lies on the bar; None beyond its ends."""
        scale = self._colors()
        if scale is None or not scale.limits[0] <= defocus <= scale.limits[1]:
            return None
        low, high = scale.limits
        share = (defocus - low) / max(high - low, 1e-12)
        return float(MARGIN_PX + share * (self.width() - 2 * MARGIN_PX))

    def labels(self) -> tuple[str, str]:
        """What the ends of the bar are called."""
        scale = self._colors()
        if scale is None:
            return "", ""
        low, high = scale.limits
        return self._unit.short(low), self._unit.short(high)

    @property
    def focus_label(self) -> str:
        """What the focus plane is called."""
        known = self._unit.name == DISTANCE and self._unit.constants is not None
        return f"{FOCUS} {self._unit.distance(0.0)}" if known else FOCUS

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: draw the bar, its ends, the focus and the value."""
        scale = self._colors()
        if scale is None:
            return
        painter = QPainter(self)
        bar = QRectF(MARGIN_PX, TICK_PX, self.width() - 2 * MARGIN_PX, BAR_PX)
        painter.drawImage(bar, _ramp(scale))
        painter.setPen(QPen(QColor(MARK_COLOR)))
        below = QRectF(MARGIN_PX, bar.bottom() + TICK_PX, bar.width(), self.height() - bar.bottom())
        front, behind = self.labels()
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, front)
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, behind)
        self._draw_focus(painter, bar, below)
        self._draw_value(painter, bar)
        painter.end()

    def _draw_focus(self, painter: QPainter, bar: QRectF, below: QRectF) -> None:
        x = self.position_px(0.0)
        if x is None:
            return
        for top in (bar.top() - TICK_PX, bar.bottom()):
            painter.drawLine(QPointF(x, top), QPointF(x, top + TICK_PX))
        metrics = self.fontMetrics()
        half = metrics.horizontalAdvance(self.focus_label) / 2
        front, behind = (metrics.horizontalAdvance(text) for text in self.labels())
        gap = metrics.horizontalAdvance(" ")
        if below.left() + front + gap < x - half and x + half + gap < below.right() - behind:
            place = QRectF(x - half - 1, below.top(), 2 * half + 2, below.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignHCenter, self.focus_label)

    def _draw_value(self, painter: QPainter, bar: QRectF) -> None:
        x = None if self._value is None else self.position_px(self._value)
        if x is None:
            return
        tip = QPointF(x, bar.top() + BAR_PX / 2)
        corners = (QPointF(x - TICK_PX, 0.0), QPointF(x + TICK_PX, 0.0), tip)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor("black")))
        painter.setBrush(QColor("white"))
        painter.drawPolygon(QPolygonF(corners))


class ReadOut(QWidget):
    """What the pixel under the cursor has, in the unit that the user chooses, and the bar."""

    changed = Signal()

    def __init__(self, colors: Callable[[], ColorScale | None]) -> None:
        super().__init__()
        self._source: MpiSource | None = None
        self.text = QLabel(NOTHING_UNDER_CURSOR, objectName="inspect_reading", wordWrap=True)
        self.text.setToolTip("Defocus, side of the focus plane and distance under the cursor.")
        self.text.setMinimumHeight(2 * self.text.fontMetrics().lineSpacing())
        self.bar = DefocusBar(colors)
        self.unit = choice(
            "inspect_unit",
            "Unit of the read-out and the colour bar: multiples of the calibrated blur, width of "
            "the blur in pixels (needs the calibration), or metres (needs the lens constants: see "
            "Depth).",
        )
        self.unit.addItems(list(UNITS))
        ignore_wheel(self.unit)
        kept = remembered.remembered(SECTION, {"unit": DEFOCUS})["unit"]
        self._wanted = kept if kept in UNITS else DEFOCUS
        self.unit.activated.connect(lambda _: self._choose())
        row = QHBoxLayout()
        row.addWidget(QLabel("Read in"))
        row.addWidget(self.unit, stretch=1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.text)
        layout.addWidget(self.bar)
        layout.addLayout(row)

    @property
    def chosen(self) -> DefocusUnit:
        """The unit that is used."""
        name = self.unit.currentText()
        return DefocusUnit() if self._source is None else self._source.unit(name)

    def set_source(self, source: MpiSource | None) -> None:
        """Read another multiplane image; a unit that it does not know is not offered."""
        self._source = source
        known = [source is not None and source.unit(name).is_known for name in UNITS]
        for number, is_known in enumerate(known):
            self.unit.model().item(number).setEnabled(is_known)
        wanted = UNITS.index(self._wanted)
        self.unit.setCurrentIndex(wanted if known[wanted] else 0)
        self.show_nothing()
        self._use()

    def show_pixel(self, defocus: float, place: tuple[int, int], layer: int) -> None:
        """Show a defocus scale at a place, and the layer that contributes most."""
        self.bar.show_value(defocus)
        self.text.setText(
            f"{self.chosen.sentence(defocus)}\n"
            f"Row {place[0]}, column {place[1]}, mostly layer {layer}"
        )

    def show_nothing(self) -> None:
        """The cursor is outside of the image."""
        self.text.setText(NOTHING_UNDER_CURSOR)
        self.bar.show_value(None)

    def _choose(self) -> None:
        self._wanted = self.unit.currentText()
        remembered.remember(SECTION, {"unit": self._wanted})
        self._use()

    def _use(self) -> None:
        self.bar.set_unit(self.chosen)
        self.changed.emit()


def colors_of(source: MpiSource | None, viewer: object) -> ColorScale | None:
    """The colours of the defocus map that belongs to a multiplane image, as its layer has them.

    Without such a layer, those that it would have.
    """
    if source is None:
        return None
    layer = layer_of(viewer, source.group, DEFOCUS_MAP)
    if layer is None:
        return source.colors
    colors = layer.colormap.map(np.linspace(0.0, 1.0, SAMPLES, dtype=np.float32))
    low, high = (float(limit) for limit in layer.contrast_limits)
    palette = np.round(255 * colors[:, :3]).astype(np.uint8)
    return ColorScale((low, high), str(layer.colormap.name), palette)


def _ramp(scale: ColorScale) -> QImage:
    """One row of pixels with all colours."""
    row = np.ascontiguousarray(scale.palette)
    image = QImage(row.tobytes(), len(row), 1, 3 * len(row), QImage.Format.Format_RGB888)
    return image.copy()  # the bytes belong to Python
