"""Delayed calls on the GUI thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer

DRAWN_MS = 10  # Qt collects changes for 5 ms before it draws them
_waiting: set[Callable[[], None]] = set()


def call_later(action: Callable[[], object], delay_ms: int = 0) -> None:
    """Call ``action`` once, after ``delay_ms``.

    Pending calls are referenced here: PyQt6 hides them from Python's garbage collector, which may
    clear them together with a deleted widget. A method of a widget that was deleted meanwhile is
    not called.
    """
    owner = getattr(action, "__self__", None)

    def call() -> None:
        _waiting.discard(call)
        if not isinstance(owner, QObject) or isalive(owner):
            action()

    _waiting.add(call)
    QTimer.singleShot(delay_ms, call)


def call_after_draw(action: Callable[[float], object], begin: float | None = None) -> None:
    """Call ``action`` after the next redraw, with the seconds that changes and redraw took.

    ``begin``: time.perf_counter() when the changes began, if earlier.
    """
    since = time.perf_counter() if begin is None else begin
    call_later(lambda: action(max(time.perf_counter() - since - DRAWN_MS / 1000, 0.0)), DRAWN_MS)
