"""OnScreen: content that stays on the screen although its window is taller.

napari's window is at least 500 px high. On a small screen, or one with large scaling, its lower
part cannot be seen, and with it the buttons at the bottom of a panel.
"""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QEvent, QObject, QPoint, QSize
from qtpy.QtGui import QResizeEvent, QShowEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

from napari_dpdeblur.viewer.shared.timers import call_later


class OnScreen(QWidget):
    """Gives ``content`` all the room that lies on the screen."""

    def __init__(self, content: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._content = content
        self._window: QWidget | None = None
        content.setParent(self)
        # Otherwise napari adds empty room below.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)

    def minimumSizeHint(self) -> QSize:
        """Qt: what the content needs at least."""
        return self._content.minimumSizeHint()

    def sizeHint(self) -> QSize:
        """Qt: what the content wants."""
        return self._content.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
        call_later(self._place)  # when the docks around have their places, too

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._window is not self.window():
            self._window = self.window()
            self._window.installEventFilter(self)
        self._place()
        call_later(self._place)

    def event(self, event: Any) -> bool:
        """Qt: the content may need more room than before."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self._place()
        return bool(super().event(event))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Move:
            self._place()
        return False

    def _place(self) -> None:
        screen = self.screen().availableGeometry()
        visible = screen.bottom() + 1 - self.mapToGlobal(QPoint(0, 0)).y()
        least = self._content.minimumSizeHint().height()
        height = min(self.height(), max(visible, least))
        self._content.setGeometry(0, 0, self.width(), height)
