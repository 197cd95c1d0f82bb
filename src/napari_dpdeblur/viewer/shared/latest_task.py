"""A background thread that works on the latest task only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.results.refocus.renderer import Superseded

IsSuperseded = Callable[[], bool]
DONE, FAILED, GIVEN_UP = "done", "failed", "given up"


@dataclass(frozen=True)
class _Task:
    work: Callable[[IsSuperseded], Any]
    key: Any
    gives_way: bool
    number: int


class LatestTask(QObject):
    """Runs the newest task in a thread; older tasks that wait are dropped.

    ``done`` gives the key and the result of a task, ``failed`` the key and a sentence. A task that
    ``gives_way`` is told to stop when a newer one comes; the others are finished first, so that
    somebody who draws a slider without rest sees pictures all the same.
    """

    done = Signal(object, object)
    failed = Signal(object, str)
    _ended = Signal(int, str, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = _State()
        self._submitted = self._delivered = 0
        self._ended.connect(self._on_ended)
        self.destroyed.connect(self._state.stop)

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, waits, or has a result that is not delivered yet."""
        return self._state.is_running or self._delivered < self._submitted

    def submit(
        self, work: Callable[[IsSuperseded], Any], key: Any = None, gives_way: bool = False
    ) -> None:
        """Schedule ``work(superseded)``; it may raise Superseded or a DpDeblurError."""
        self._submitted += 1
        self._state.put(_Task(work, key, gives_way, self._submitted), self._emit)

    def drop(self) -> None:
        """Drop the waiting task and tell the running one to stop."""
        self._state.drop()
        self._delivered = self._submitted

    def stop(self) -> None:
        """End the thread after the current task."""
        self._state.stop()

    def _emit(self, *values: Any) -> None:
        """In the thread: pass the outcome to the GUI thread."""
        try:
            self._ended.emit(*values)
        except RuntimeError:
            self._state.stop()  # the window is gone

    def _on_ended(self, number: int, end: str, key: Any, result: Any) -> None:
        is_dropped = number <= self._delivered
        self._delivered = max(self._delivered, number)
        if end == DONE and not is_dropped:
            self.done.emit(key, result)
        elif end == FAILED and not is_dropped:
            self.failed.emit(key, result)


class _State:
    """State shared by the thread and its owner; without Qt, so that it outlives the window."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._thread: Thread | None = None
        self._is_stopped = False
        self._is_dropped = False
        self.waiting: _Task | None = None
        self.is_running = False

    def put(self, task: _Task, deliver: Callable[..., None]) -> None:
        with self._changed:
            self.waiting = task
            self._changed.notify()
            if self._thread is None and not self._is_stopped:
                self._thread = Thread(target=self._loop, args=(deliver,), daemon=True)
                self._thread.start()

    def drop(self) -> None:
        with self._changed:
            self.waiting, self._is_dropped = None, self.is_running

    def stop(self, *_: Any) -> None:
        with self._changed:
            self.waiting, self._is_stopped = None, True
            self._changed.notify()

    def _next(self) -> _Task | None:
        with self._changed:
            while self.waiting is None and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                return None
            task, self.waiting = self.waiting, None
            self.is_running, self._is_dropped = True, False
            return task

    def _loop(self, emit: Callable[..., None]) -> None:
        while self._do_next(emit):
            pass

    def _do_next(self, emit: Callable[..., None]) -> bool:
        """Run one task and keep nothing of it, as it may be large."""
        task = self._next()
        if task is None:
            return False
        end, result = self._run(task)
        self.is_running = False
        emit(task.number, end, task.key, result)
        return True

    def _run(self, task: _Task) -> tuple[str, Any]:
        def superseded() -> bool:
            newer = task.gives_way and self.waiting is not None
            return newer or self._is_stopped or self._is_dropped

        try:
            return DONE, task.work(superseded)
        except Superseded:
            return GIVEN_UP, None
        except DpDeblurError as error:
            return FAILED, str(error)
        except MemoryError:
            return FAILED, "Not enough memory; close other results."
        except Exception as error:  # the thread must live on, and nobody else would hear of it
            text = f"{type(error).__name__}: {error}"
            return FAILED, f"Unexpected error ({text}); please report it."
