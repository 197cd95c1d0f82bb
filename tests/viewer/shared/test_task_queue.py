"""Steps come one after the other, and the window is drawn between them."""

from __future__ import annotations

import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QDockWidget, QMainWindow, QVBoxLayout, QWidget

from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue


class Window(QWidget):
    """Keeps in mind when its drawing was held and let go."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def setUpdatesEnabled(self, enable):
        self.seen.append("drawn" if enable else "held")
        super().setUpdatesEnabled(enable)


@pytest.fixture
def window(qtbot):
    made = Window()
    QVBoxLayout(made)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def widget(window):
    made = QWidget(window)
    window.layout().addWidget(made)
    return made


def test_the_window_is_drawn_after_each_step(window, widget, qtbot):
    tasks = GuiTaskQueue(widget)
    tasks.add([lambda: window.seen.append("step")] * 3)
    assert tasks.is_busy
    qtbot.waitUntil(lambda: len(window.seen) == 9)
    assert window.seen == ["held", "step", "drawn"] * 3
    assert not tasks.is_busy


def test_nothing_is_lost_when_there_is_no_time_left(widget):
    seen = []
    tasks = GuiTaskQueue(widget)
    tasks.add([lambda: seen.append(1), lambda: seen.append(2)])
    tasks.finish()
    assert seen == [1, 2]
    assert not tasks.is_busy


def test_a_failed_step_stops_neither_the_drawing_nor_the_rest(window, widget, qtbot):
    seen = []

    def fail():
        raise ValueError("a step")

    with qtbot.captureExceptions() as errors:
        GuiTaskQueue(widget).add([fail, lambda: seen.append(1)])
        qtbot.waitUntil(lambda: bool(seen))
        qtbot.waitUntil(window.updatesEnabled)
    assert [str(error[1]) for error in errors] == ["a step"]


def test_the_window_is_drawn_although_the_widget_is_gone(window, widget, qtbot):
    GuiTaskQueue(widget).add([widget.deleteLater])
    qtbot.waitUntil(lambda: window.seen == ["held", "drawn"])


def test_the_panel_of_the_widget_is_drawn_all_the_time(qtbot):
    window, docks = QMainWindow(), [QDockWidget() for _ in range(2)]
    qtbot.addWidget(window)
    window.setCentralWidget(QWidget())
    for dock in docks:
        dock.setWidget(QWidget())
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    window.show()
    parts = [window.centralWidget(), docks[1].widget(), docks[0].widget()]
    seen = []
    GuiTaskQueue(docks[0].widget()).add([lambda: seen.extend(p.updatesEnabled() for p in parts)])
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [False, False, True]
    qtbot.waitUntil(lambda: all(part.updatesEnabled() for part in parts))
