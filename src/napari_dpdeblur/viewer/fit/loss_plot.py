"""A plot of the loss of a running fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import pyqtgraph
from qtpy.QtWidgets import QVBoxLayout, QWidget
from superqt.utils import QSignalThrottler

from napari_dpdeblur.viewer.shared.controls import text_label

HEIGHT_PX = 130
COLORS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00")  # safe for all eyes
DRAW_MS = 250
TICK_PX = -5  # outwards
INK = "#808080"  # readable on light and dark themes
MAX_POINTS = 2000


class LossPlot(QWidget):
    """One curve for each term of the objective, on a logarithmic axis, with the names below it.

    Hidden while there is no curve.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("loss_plot")
        self.setToolTip("Terms of the objective at each step, on a logarithmic axis")
        self.plot = pyqtgraph.PlotWidget(background=None, axisItems={"left": _PowerAxis("left")})
        self.plot.setFixedHeight(HEIGHT_PX)
        self.plot.setMenuEnabled(False)
        self.plot.setLabel("bottom", "step", color=INK)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(maxTickLevel=0, tickLength=TICK_PX)
            axis.setPen(INK)
            axis.setTextPen(INK)
        # A label of the panel has the colours of its theme, and covers no curve.
        self.legend = text_label("loss_legend", "Terms of the objective")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.plot)
        layout.addWidget(self.legend)
        self._curves: dict[str, pyqtgraph.PlotDataItem] = {}
        self._points: dict[str, tuple[list[int], list[float]]] = {}
        self._steps = 0
        self._drawing = QSignalThrottler(QSignalThrottler.EmissionPolicy.Trailing, self)
        self._drawing.setTimeout(DRAW_MS)
        self._drawing.triggered.connect(self.draw)
        self.hide()

    def start(self) -> None:
        """Remove the curves of the previous fit."""
        self.plot.clear()
        self.legend.clear()
        self._curves, self._points, self._steps = {}, {}, 0
        self.hide()

    def add(self, losses: Mapping[str, float]) -> None:
        """Add the losses of one step; drawn later, together with others."""
        if not losses:
            return
        self._steps += 1
        for name, value in losses.items():
            steps, values = self._points.setdefault(name, ([], []))
            if value > 0:  # a term that is switched off has no logarithm
                steps.append(self._steps)
                values.append(math.log10(value))
                _thin_out(steps, values)
        self._drawing.throttle()

    def draw(self) -> None:
        """Show everything that was added."""
        self.setVisible(any(values for _, values in self._points.values()))
        for number, (name, (steps, values)) in enumerate(self._points.items()):
            if values and name not in self._curves:
                pen = pyqtgraph.mkPen(COLORS[number % len(COLORS)], width=2)
                self._curves[name] = self.plot.plot(name=name, pen=pen)
                self._name_curves()
            if values:
                self._curves[name].setData(steps, values)

    def _name_curves(self) -> None:
        """Name the curves in their colours below the plot."""
        names = [
            f'<span style="color:{pen_color(curve)}">&#9632;</span>&nbsp;{escape(name)}'
            for name, curve in self._curves.items()
        ]
        self.legend.setText(" &nbsp;".join(names))

    def values(self) -> dict[str, list[float]]:
        """The points of each curve."""
        return {name: [10**value for value in values] for name, (_, values) in self._points.items()}


def pen_color(curve: pyqtgraph.PlotDataItem) -> str:
    """The colour of a curve."""
    return str(curve.opts["pen"].color().name())


class _PowerAxis(pyqtgraph.AxisItem):
    """An axis of logarithms with few labels, for a low plot."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [f"{10**value:.1e}" for value in values]


def _thin_out(steps: list[int], values: list[float]) -> None:
    """Keep every second point of a long curve, so that drawing it stays quick."""
    if len(steps) > MAX_POINTS:
        del steps[1:-1:2], values[1:-1:2]
