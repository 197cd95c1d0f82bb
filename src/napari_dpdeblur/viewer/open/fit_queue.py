"""FitQueue: fits that wait for each other, because one uses all cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer, Signal

from napari_dpdeblur.viewer.shared.worker import Worker

LOOK_MS = 100


@dataclass(frozen=True, eq=False)
class WaitingFit:
    """A fit that has not begun. ``begin`` starts it on a watched worker, unless it fails.

    ``is_ready`` is asked again and again while nothing else runs; ``owner`` is a Qt object without
    which the fit is forgotten.
    """

    title: str
    begin: Callable[[], None]
    owner: QObject
    is_ready: Callable[[], bool] = lambda: True


class FitQueue(QObject):
    """Begins one fit after the other; ``changed`` tells when one was added, begun or removed."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[WaitingFit] = []
        self._workers: WeakSet[Worker] = WeakSet()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def waiting(self) -> list[WaitingFit]:
        """Fits that have not begun, in their order."""
        return list(self._waiting)

    @property
    def is_running(self) -> bool:
        """Whether a fit runs or is paused."""
        return any(isalive(worker) and worker.is_running for worker in self._workers)

    def watch(self, worker: Worker) -> None:
        """Count the jobs of this worker as fits."""
        self._workers.add(worker)

    def add(self, fit: WaitingFit) -> bool:
        """Begin a fit now, or later if another one runs; returns whether it has begun."""
        if not self.is_running and not self._waiting and fit.is_ready():
            fit.begin()
            return True
        self._waiting.append(fit)
        self._timer.start()
        self.changed.emit()
        return False

    def remove(self, fit: WaitingFit) -> None:
        """Forget a fit that has not begun."""
        self._waiting = [other for other in self._waiting if other is not fit]
        self.changed.emit()

    def forget(self, owner: QObject) -> None:
        """Forget all fits of an owner that have not begun."""
        self._waiting = [fit for fit in self._waiting if fit.owner is not owner]
        self.changed.emit()

    def _look(self) -> None:
        self._waiting = [fit for fit in self._waiting if isalive(fit.owner)]
        if not self._waiting:
            self._timer.stop()
        elif not self.is_running and self._waiting[0].is_ready():
            fit = self._waiting.pop(0)
            fit.begin()
            self.changed.emit()


_queue: Any = None


def fit_queue() -> FitQueue:
    """The queue of all windows of this program."""
    global _queue
    if _queue is None or not isalive(_queue):
        _queue = FitQueue()
    return _queue  # type: ignore[no-any-return]
