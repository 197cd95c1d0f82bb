"""LensPreview: the kernels of a lens that is being estimated, and the verdict on it."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import Qt
from qtpy.QtGui import QImage, QPixmap
from qtpy.QtWidgets import QHBoxLayout, QLabel, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.viewer.layers.calibration import KERNEL_GAMMA, anaglyph
from napari_dpdeblur.viewer.shared.controls import text_label

WIDTH_PX, HEIGHT_PX = 128, 96


class LensPreview(QWidget):
    """A small picture of all kernels with a line of text; hidden while there is nothing."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.picture = QLabel()
        self.picture.setObjectName("lens_picture")
        self.picture.setToolTip(
            "Kernels of the estimated lens at their places: left view red, right view cyan"
        )
        self.picture.setFixedWidth(WIDTH_PX)
        self.text = text_label("lens_text", "The lens that is estimated from the capture")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.picture)
        layout.addWidget(self.text, stretch=1)
        self.clear()

    def show_kernels(self, views: np.ndarray, text: str = "") -> None:
        """Show the kernels of both views in their places: (2, H, W)."""
        pixels = np.ascontiguousarray(anaglyph(views[0], views[1], KERNEL_GAMMA))
        height, width = pixels.shape[:2]
        image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
        scaled = QPixmap.fromImage(image).scaled(
            WIDTH_PX,
            HEIGHT_PX,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        self.picture.setPixmap(scaled)
        self.text.setText(text)
        self.setVisible(True)

    def show_lens(self, calibration: Calibration, text: str) -> None:
        """Show the kernels of a finished lens and what there is to say about it."""
        rows, cols, size = calibration.rows, calibration.cols, calibration.kernels.shape[-1]
        grid = calibration.kernels.reshape(rows, cols, 2, size, size).transpose(2, 0, 3, 1, 4)
        self.show_kernels(grid.reshape(2, rows * size, cols * size), text)

    def clear(self) -> None:
        """Show nothing."""
        self.picture.clear()
        self.text.clear()
        self.setVisible(False)
