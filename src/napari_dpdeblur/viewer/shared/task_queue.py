"""A queue of layer changes, with pauses in which the window responds."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from napari.layers import Layer
from qtpy.compat import isalive
from qtpy.QtCore import QObject, Qt, QTimer
from qtpy.QtWidgets import QDockWidget, QMainWindow, QWidget

from napari_dpdeblur.viewer.shared.gc_pause import pause_full_collection
from napari_dpdeblur.viewer.shared.timers import call_later

DRAW_MS, NEXT_MS = 20, 60  # after a step, until its result is drawn, and until the next one
COLLECT_MS = 500  # after the last step, until everything may be collected


class GuiTaskQueue(QObject):
    """Runs tasks one by one on the GUI thread, with pauses in which the window responds.

    Adding a layer takes napari a tenth of a second, and drawing the window nearly as long. The
    window is drawn separately, so that keys and clicks are handled in between.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(NEXT_MS)
        self._timer.timeout.connect(self._next)

    @property
    def is_busy(self) -> bool:
        """Whether a task is waiting."""
        return bool(self._waiting)

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Append tasks to the queue."""
        self._waiting.extend(steps)
        if not self._timer.isActive():
            self._timer.start()

    def finish(self) -> None:
        """Run all waiting tasks now, before the widget goes away."""
        while self._waiting:
            self._waiting.popleft()()

    def _next(self) -> None:
        if not self._waiting:
            return
        parts = _parts_to_hold(self.parent())
        for part in parts:
            part.setUpdatesEnabled(False)
        collect_again = pause_full_collection()
        try:
            self._waiting.popleft()()
        finally:
            # Not a timer of our own: the window must be drawn even if this widget goes away.
            call_later(lambda: _draw(parts), DRAW_MS)
            call_later(collect_again, COLLECT_MS)
            self._timer.start()


def _parts_to_hold(widget: QWidget) -> list[QWidget]:
    """Parts of the window that a task may change: all but the panel of the widget itself.

    Freezing the whole window would redraw every control of the panel, which takes as long as
    drawing the rest.
    """
    window = widget.window()
    docks = window.findChildren(QDockWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    if not isinstance(window, QMainWindow) or not any(d.isAncestorOf(widget) for d in docks):
        return [window]
    return [window.centralWidget(), *(dock for dock in docks if not dock.isAncestorOf(widget))]


def _draw(parts: list[QWidget]) -> None:
    for part in parts:
        if isalive(part):
            part.setUpdatesEnabled(True)


def warm_up_layers() -> None:
    """Import in a thread what napari needs for the first layer, which takes a second."""

    def load() -> None:
        Layer.create(np.zeros((2, 2), np.float32), {}, "image")

    threading.Thread(target=load, daemon=True, name="warm-up of layers").start()
