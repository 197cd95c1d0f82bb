"""Base classes of the panels: they stop with their dock and debounce changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QWidget
from superqt.utils import QSignalDebouncer

from napari_dpdeblur.viewer.shared.timers import call_later
from napari_dpdeblur.viewer.shared.worker_panel import WorkerPanel


class DockedWidget(QWidget):
    """A widget that is deleted with its dock.

    napari keeps the content of a closed dock, hidden and without a parent; its jobs and threads
    would keep running. ``stop_all`` is called once, when that happens or when
    ``close_down`` is called.
    """

    is_closed = False
    _was_docked = False

    def stop_all(self) -> None:
        """Stop everything that runs and disconnect from the viewer."""

    def close_down(self) -> None:
        """Stop everything; a second call does nothing."""
        if not self.is_closed:
            self.is_closed = True
            self.stop_all()

    def event(self, event: Any) -> bool:
        """Qt: napari removes the widget from a dock that is closed."""
        if event.type() == QEvent.Type.ParentChange:
            if self.parent() is not None:
                self._was_docked = True
            elif self._was_docked:
                self.close_down()
                call_later(self._delete)
        return bool(super().event(event))

    def _delete(self) -> None:
        if self.parent() is None:
            self.deleteLater()


class JobControls(DockedWidget):
    """Controls of a job in a separate process; the job is killed with them."""

    panel: WorkerPanel

    def stop_all(self) -> None:
        """Kill the job."""
        self.panel.worker.kill()

    def settle_after(
        self, signals: Iterable[Any], pause_ms: int, settle: Callable[[], None]
    ) -> None:
        """Call ``settle`` when no signal has come for ``pause_ms``."""
        debouncer = QSignalDebouncer(parent=self)
        debouncer.setTimeout(pause_ms)
        debouncer.triggered.connect(settle)
        for signal in signals:
            signal.connect(lambda *_: debouncer.throttle())
