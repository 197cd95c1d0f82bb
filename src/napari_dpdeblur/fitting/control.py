"""FitControl: how somebody else pauses or cancels a running fit."""

from __future__ import annotations

import threading
import time

from napari_dpdeblur.errors import FitError


class FitCancelled(FitError):
    """The fit was cancelled on request."""


class FitControl:
    """Shared between a fit and whoever watches it; safe to use from any thread.

    The fit calls :meth:`check` between the layers of every blur, many times a second.
    """

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()
        self._cancelled = threading.Event()
        self.waited_s = 0.0  # how long checks have held the fit

    def pause(self) -> None:
        """Hold the fit at its next check."""
        self._running.clear()

    def resume(self) -> None:
        """Let a paused fit go on."""
        self._running.set()

    def cancel(self) -> None:
        """End the fit at its next check, paused or not."""
        self._cancelled.set()
        self._running.set()

    @property
    def paused(self) -> bool:
        """Whether the fit has been told to wait."""
        return not self._running.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the fit has been told to end."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Wait while paused; raise FitCancelled when cancelled."""
        if not self._running.is_set():
            begin = time.monotonic()
            self._running.wait()
            self.waited_s += time.monotonic() - begin
        if self._cancelled.is_set():
            raise FitCancelled("The fit was cancelled.")
