"""A plot of the contribution of each layer under the cursor."""

from __future__ import annotations

import numpy as np
import pyqtgraph
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QVBoxLayout, QWidget

BAR_COLOR = "#5aa9e6"
MEAN_COLOR = "#ffb454"
FOCUS_COLOR = "#8f929c"
LABEL_ANCHORS = [(-0.2, 0.5), (1.2, 0.5)]  # right or left of the line, clear of its bar
HEIGHT_PX = 120
BAR_SHARE = 0.8


class WeightsPlot(QWidget):
    """Bars over the defocus scales of the layers; lines at their weighted mean and the focus."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("inspect_weights")
        self.setToolTip(
            "Contribution of each layer to the pixel under the cursor. One high bar: a clear "
            "depth. Several bars: an edge or an uncertain depth. Dashed: the focus plane."
        )
        self.setFixedHeight(HEIGHT_PX)
        self._plot = pyqtgraph.PlotWidget(background=None)
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.setMenuEnabled(False)
        self._plot.hideButtons()
        self._plot.setYRange(0.0, 1.0, padding=0.08)
        self._plot.setLabel("bottom", "defocus scale")
        self._plot.setLabel("left", "weight")
        for side in ("bottom", "left"):
            self._plot.getAxis(side).enableAutoSIPrefix(False)  # it would write 500 (x0.001)
        self._bars = pyqtgraph.BarGraphItem(x=[0.0], height=[0.0], width=0.0, brush=BAR_COLOR)
        self._mean = pyqtgraph.InfiniteLine(pen=pyqtgraph.mkPen(MEAN_COLOR, width=2))
        self._plot.addItem(self._bars)
        self._plot.addItem(self._mean)
        self._mean.hide()
        self.focus = pyqtgraph.InfiniteLine(
            0.0,
            pen=pyqtgraph.mkPen(FOCUS_COLOR, style=Qt.PenStyle.DashLine),
            label="focus",
            labelOpts={"position": 0.9, "color": FOCUS_COLOR, "anchors": LABEL_ANCHORS},
        )
        self._plot.addItem(self.focus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self.scales, self.weights = np.zeros(0), np.zeros(0)

    def set_scales(self, scales: np.ndarray) -> None:
        """The defocus scales (L,) of the layers."""
        self.scales = np.asarray(scales, float)
        step = float(np.abs(np.diff(self.scales)).min()) if len(self.scales) > 1 else 0.1
        self._bars.setOpts(x=self.scales, width=BAR_SHARE * step)
        low, high = self.scales.min() - step, self.scales.max() + step
        self._plot.setXRange(low, high, padding=0.0)
        self.focus.setVisible(bool(low < 0 < high))
        self.clear()

    def show_weights(self, weights: np.ndarray) -> None:
        """The weights (L,) at one pixel."""
        self.weights = np.asarray(weights, float)
        self._bars.setOpts(height=self.weights)
        self._mean.setValue(float((self.weights * self.scales).sum()))
        self._mean.show()

    def clear(self) -> None:
        """Nothing under the cursor."""
        self.weights = np.zeros(len(self.scales))
        self._bars.setOpts(height=self.weights)
        self._mean.hide()
