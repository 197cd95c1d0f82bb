"""Whether a process that was told to pause leaves the processor alone."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

WINDOW_MS = 1000
RESTING_SHARE = 0.05
PATIENCE_S = 60  # half a second on a quiet machine

Wait = Callable[[int], object]  # for so many milliseconds


def _sleep(duration_ms: int) -> None:
    time.sleep(duration_ms / 1000)


def assert_rests(process: psutil.Process, wait: Wait = _sleep) -> None:
    """It comes to rest and stays so; a window hands in a way to wait that keeps it alive."""
    deadline = time.monotonic() + PATIENCE_S
    while _busy_share(process, wait) >= RESTING_SHARE:
        assert time.monotonic() < deadline, "the process goes on computing"
    assert _busy_share(process, wait) < RESTING_SHARE


def _busy_share(process: psutil.Process, wait: Wait) -> float:
    before = sum(process.cpu_times()[:2])
    wait(WINDOW_MS)
    return (sum(process.cpu_times()[:2]) - before) * 1000 / WINDOW_MS
