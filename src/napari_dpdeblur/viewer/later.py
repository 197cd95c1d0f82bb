"""Call something a little later on the GUI thread."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer

_waiting: set[Callable[[], None]] = set()


def later(action: Callable[[], object], delay_ms: int = 0) -> None:
    """Call back once; with no delay, after everything that is asked for now has been drawn.

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
