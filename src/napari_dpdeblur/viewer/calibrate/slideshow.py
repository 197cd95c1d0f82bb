"""The calibration target in full screen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QScreen
from qtpy.QtWidgets import QWidget

NEXT_KEYS = (Qt.Key.Key_Space, Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_PageDown)
BACK_KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Backspace, Qt.Key.Key_PageUp)
HELP = "Space or right: next   ·   left: back   ·   Escape: close"


def screen_size_px(screen: QScreen) -> tuple[int, int]:
    """Width and height in physical pixels."""
    ratio = screen.devicePixelRatio()
    size = screen.size()
    return round(size.width() * ratio), round(size.height() * ratio)


def screen_diagonal_inch(screen: QScreen) -> float:
    """Diagonal that the screen reports; 0 if that is implausible."""
    size_mm = screen.physicalSize()
    inches = float(np.hypot(size_mm.width(), size_mm.height())) / 25.4
    return inches if 5 < inches < 120 else 0.0


class SlideShow(QWidget):
    """A frameless window that shows one frame at a time, pixel by pixel.

    ``frames`` are grey pictures (height, width) uint8 by name. Keys step, Escape closes; a click
    steps, too. Nothing else is drawn, because the camera would see it.
    """

    stepped = Signal(str)
    closed = Signal()

    def __init__(self, frames: Mapping[str, np.ndarray]) -> None:
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("slideshow")
        self.setWindowTitle("Calibration target")
        self.setToolTip("")
        self.setCursor(Qt.CursorShape.BlankCursor)
        self._names = list(frames)
        self._images = [_image(picture) for picture in frames.values()]
        self._shown = 0

    @property
    def frame(self) -> str:
        """Name of the frame that is shown."""
        return self._names[self._shown]

    def show_on(self, screen: QScreen) -> None:
        """Fill this screen."""
        self.setGeometry(screen.geometry())
        self.showFullScreen()
        self.activateWindow()

    def step(self, by: int) -> None:
        """Show another frame."""
        self._shown = (self._shown + by) % len(self._names)
        self.update()
        self.stepped.emit(self.frame)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in NEXT_KEYS:
            self.step(1)
        elif event.key() in BACK_KEYS:
            self.step(-1)
        elif event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Q):
            self.close()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.step(1)

    def closeEvent(self, event: object) -> None:
        self.closed.emit()
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor("black"))
        image = self._images[self._shown]
        image.setDevicePixelRatio(self.devicePixelRatioF())
        painter.drawImage(0, 0, image)
        painter.end()


def _image(picture: np.ndarray) -> QImage:
    height, width = picture.shape
    pixels = np.ascontiguousarray(picture)
    image = QImage(pixels.data, width, height, width, QImage.Format.Format_Grayscale8)
    return image.copy()  # of its own, because the array may go away
