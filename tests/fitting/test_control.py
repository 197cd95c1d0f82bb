from __future__ import annotations

import contextlib
import threading

import pytest

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import FitCancelled, FitControl


def checked_elsewhere(control: FitControl) -> tuple[threading.Thread, threading.Event]:
    """A thread that checks once, and what is set when it has gone on."""
    done = threading.Event()

    def check() -> None:
        with contextlib.suppress(FitCancelled):
            control.check()
        done.set()

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    return thread, done


def test_nothing_happens_unless_asked() -> None:
    control = FitControl()
    control.check()
    assert not control.paused
    assert not control.cancelled


def test_cancelling_raises_at_every_check() -> None:
    control = FitControl()
    control.cancel()
    assert control.cancelled
    for _ in range(2):
        with pytest.raises(FitCancelled, match=r"^The fit was cancelled\.$") as caught:
            control.check()
        assert isinstance(caught.value, FitError)


@pytest.mark.parametrize("wake", ["resume", "cancel"])
def test_pausing_holds_until_told_otherwise(wake: str) -> None:
    control = FitControl()
    control.pause()
    assert control.paused
    thread, done = checked_elsewhere(control)
    assert not done.wait(0.2)
    getattr(control, wake)()
    assert done.wait(10)
    thread.join()
    assert not control.paused


def test_a_cancelled_fit_cannot_be_paused_for_ever() -> None:
    control = FitControl()
    control.cancel()
    control.resume()
    with pytest.raises(FitCancelled):
        control.check()
