"""Thumbnails of captures, made one by one in a thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from qtpy.compat import isalive
from qtpy.QtCore import QObject, Qt, Signal
from qtpy.QtGui import QColor, QImage, QPainter, QPixmap

from napari_dpdeblur.array_types import Picture
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.results.preview import tone_curve, white_point

WIDTH_PX, HEIGHT_PX = 64, 48
EMPTY_COLOR, ARROW_COLOR = "#404850", "#c0c8d0"


def capture_thumbnail(files: Sequence[Path], size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX)) -> Any:
    """The left view as bytes (h, w) or (h, w, 3), at most ``size``: width, height."""
    return thumbnail_of(open_capture(*files), size)


def thumbnail_of(capture: DualPixelCapture, size: tuple[int, int]) -> Any:
    """The left view of a capture that is open, likewise."""
    view = np.moveaxis(capture.views[0], 0, -1)
    height = view.shape[0] * capture.pixel_aspect
    factor = min(size[0] / view.shape[1], size[1] / height)
    small = (max(round(factor * view.shape[1]), 1), max(round(factor * height), 1))
    reduced = np.asarray(
        cv2.resize(np.ascontiguousarray(view), small, interpolation=cv2.INTER_AREA)
    )
    planes = np.moveaxis(np.atleast_3d(reduced), -1, 0).astype(np.float32)
    return tone_curve(planes, white_point(planes))


def pixmap(
    pixels: Picture | None, size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX), sign: str = ""
) -> QPixmap:
    """A picture in the middle of a plain background of this size; instead of None a sign."""
    canvas = QPixmap(*size)
    canvas.fill(QColor(EMPTY_COLOR) if pixels is None else Qt.GlobalColor.transparent)
    if pixels is None:
        painter = QPainter(canvas)
        painter.setPen(QColor(ARROW_COLOR))
        painter.drawText(canvas.rect(), Qt.AlignmentFlag.AlignCenter, sign)
        painter.end()
        return canvas
    content = np.ascontiguousarray(np.atleast_3d(pixels))
    height, width, channels = content.shape
    kind = QImage.Format.Format_RGB888 if channels == 3 else QImage.Format.Format_Grayscale8
    image = QImage(content.tobytes(), width, height, channels * width, kind)
    painter = QPainter(canvas)
    painter.drawImage((size[0] - width) // 2, (size[1] - height) // 2, image)
    painter.end()
    return canvas


class Thumbnails(QObject):
    """Makes thumbnails in a thread; ``made`` gives the key and the picture. Failures are silent."""

    made = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: deque[tuple[Any, Callable[[], Any]]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, key: Any, make: Callable[[], Any]) -> None:
        """Make a thumbnail later."""
        with self._lock:
            self._waiting.append((key, make))
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._work, daemon=True, name="thumbnails").start()

    def drop(self) -> None:
        """Forget those that are not made yet."""
        self._waiting.clear()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or not isalive(self):
                    self._is_running = False
                    return
                key, make = self._waiting.popleft()
            try:
                picture = make()
            except Exception:  # a picture that cannot be made is not worth a message
                continue
            try:
                if isalive(self):
                    self.made.emit(key, picture)
            except RuntimeError:  # the window is gone
                return
