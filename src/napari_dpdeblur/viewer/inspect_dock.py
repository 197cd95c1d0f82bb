"""A widget that notices when its dock is closed."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QWidget


class DockedWidget(QWidget):
    """Calls ``stop_all`` once, when napari takes it out of its dock, or ``close_down`` does."""

    is_closed = False
    _was_docked = False

    def stop_all(self) -> None:
        """End threads and listen no more."""
        raise NotImplementedError

    def close_down(self) -> None:
        """Stop everything; a second call does nothing."""
        if not self.is_closed:
            self.is_closed = True
            self.stop_all()

    def event(self, event: Any) -> bool:
        """Qt: napari takes the widget of a closed dock out and forgets it."""
        if event.type() == QEvent.Type.ParentChange:
            if self.parent() is not None:
                self._was_docked = True
            elif self._was_docked:
                self.close_down()
        return super().event(event)
