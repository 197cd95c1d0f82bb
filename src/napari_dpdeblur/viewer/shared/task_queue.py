"""Changes of the layers one after the other, so that the window can do other things between."""

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
    """Does things one after the other with pauses, so that none holds up the window for long.

    Making a layer takes napari a tenth of a second, and drawing the window with it nearly as long.
    The window is drawn in a turn of its own, so that keys and clicks are heard in between.
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
        """Whether a step is still to come."""
        return bool(self._waiting)

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Add steps to what is waiting."""
        self._waiting.extend(steps)
        if not self._timer.isActive():
            self._timer.start()

    def finish(self) -> None:
        """Do all that is waiting now, because there will be no later."""
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
    """The parts of the window that a step may change: all but the panel of the widget itself.

    To hold the whole window would draw every control of the panel again, which takes as long as
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
    """Load in a thread what napari needs for the first layers, which takes a second."""

    def load() -> None:
        Layer.create(np.zeros((2, 2), np.float32), {}, "image")

    threading.Thread(target=load, daemon=True, name="warm-up of layers").start()
