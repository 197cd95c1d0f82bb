"""Where the buttons of the dock are on a screen that is scaled: python scaled_dock.py

Run by tests/viewer/test_dock.py with QT_SCALE_FACTOR, which Qt reads when it starts. Prints the
lower edges of Run and of the read-out, and that of the screen, in pixels of the window.
"""

from __future__ import annotations

import time

import napari
from close_window import large_record
from qtpy.QtCore import QPoint
from qtpy.QtWidgets import QApplication, QScrollArea, QWidget

from napari_dpdeblur.viewer.dock import FIT, INSPECT, show_dock
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import run_layers


def settle() -> None:
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        QApplication.processEvents()


def lower_edge(widget: QWidget) -> int:
    """In pixels of the screen, after scrolling to it."""
    settle()
    area = widget.parent()
    while area is not None:
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(widget)
        area = area.parent()
    settle()
    return int(widget.mapToGlobal(QPoint(0, widget.height())).y())


def main() -> None:
    """Open the dock on the scaled screen and measure."""
    viewer = napari.Viewer()
    screen = QApplication.primaryScreen().availableGeometry()
    viewer.window._qt_window.setGeometry(screen)
    put_layers(viewer, run_layers(large_record()))
    dock = show_dock(viewer)
    settle()
    run = lower_edge(dock.show_tab(FIT).panel.run_button)
    settle()
    reading = lower_edge(dock.show_tab(INSPECT).reading)
    print(run, reading, screen.bottom() + 1)
    viewer.close()


if __name__ == "__main__":
    main()
