"""Signals that end a command as Ctrl-C does: what was finished is kept, and it says so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGTERM", "SIGHUP")  # `kill`, and a terminal that was closed


class Stopped(KeyboardInterrupt):
    """The command was stopped by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def stopping_signals() -> Iterator[None]:
    """Raise :class:`Stopped` when a signal arrives, unless it is ignored, as under `nohup`."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers}
    taken = {n: handler for n, handler in before.items() if handler is signal.SIG_DFL}
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
