"""Pause or cancel a long computation from outside, without passing a handle through every call.

The caller of a computation wraps it in :func:`controlled`; numeric code only calls
:func:`check_cancelled` between its steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from napari_dpdeblur.errors import OperationCancelled

Step = TypeVar("Step")
Result = TypeVar("Result")


class Control:
    """Handle to pause or cancel a computation; safe to use from any thread."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()
        self._cancelled = threading.Event()
        self.paused_s = 0.0  # total time that checks have spent waiting

    def pause(self) -> None:
        """Hold the computation at its next check."""
        self._running.clear()

    def resume(self) -> None:
        """Continue a paused computation."""
        self._running.set()

    def cancel(self) -> None:
        """End the computation at its next check, paused or not."""
        self._cancelled.set()
        self._running.set()

    @property
    def paused(self) -> bool:
        """Whether a pause was requested."""
        return not self._running.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Wait while paused; raise OperationCancelled when cancelled."""
        if not self._running.is_set():
            begin = time.monotonic()
            self._running.wait()
            self.paused_s += time.monotonic() - begin
        if self._cancelled.is_set():
            raise OperationCancelled


_current: ContextVar[Control | None] = ContextVar("napari_dpdeblur_control", default=None)


def check_cancelled() -> None:
    """Wait while the running computation is paused; raise OperationCancelled when cancelled."""
    control = _current.get()
    if control is not None:
        control.check()


def paused_s() -> float:
    """Seconds that the running computation has been paused so far."""
    control = _current.get()
    return 0.0 if control is None else control.paused_s


def controlled(
    steps: Generator[Step, None, Result], control: Control
) -> Generator[Step, None, Result]:
    """The same computation, obeying ``control``.

    The control is current only while a step runs, not between steps: two computations may take
    turns in one thread.
    """
    try:
        while True:
            with obeying(control):
                try:
                    step = next(steps)
                except StopIteration as end:
                    result: Result = end.value
                    return result
            yield step
    finally:
        steps.close()


@contextmanager
def obeying(control: Control) -> Iterator[None]:
    """Make a control the one that :func:`check_cancelled` obeys."""
    token = _current.set(control)
    try:
        yield
    finally:
        _current.reset(token)
