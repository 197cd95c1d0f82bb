"""Call something a little later on the GUI thread, or when the window has been drawn."""

from __future__ import annotations

import time
from collections.abc import Callable

from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer

DRAWN_MS = 10  # Qt collects changes for 5 ms before it draws them
_waiting: set[Callable[[], None]] = set()


def call_later(action: Callable[[], object], delay_ms: int = 0) -> None:
    """Call back once.

    What waits is held here: PyQt6 hides it from Python's collector of garbage, which may clear it
    together with a deleted widget, and Qt would then call what is no more. A method of a widget
    that was deleted meanwhile is not called.
    """
    owner = getattr(action, "__self__", None)

    def call() -> None:
        _waiting.discard(call)
        if not isinstance(owner, QObject) or isalive(owner):
            action()

    _waiting.add(call)
    QTimer.singleShot(delay_ms, call)


def call_after_draw(action: Callable[[float], object], begin: float | None = None) -> None:
    """Call back after the changes of now are drawn, with the seconds that they and it took.

    ``begin``: the time by time.perf_counter() when the changes began, if that was before.
    """
    since = time.perf_counter() if begin is None else begin
    call_later(lambda: action(max(time.perf_counter() - since - DRAWN_MS / 1000, 0.0)), DRAWN_MS)
