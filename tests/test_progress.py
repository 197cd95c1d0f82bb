"""Fraction, elapsed and remaining time."""

from __future__ import annotations

import pytest

from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.progress import RemainingTime, StageClock


class Time:
    """A clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        monkeypatch.setattr("napari_dpdeblur.progress.time.monotonic", lambda: self.now_s)


def test_what_an_earlier_run_has_done_does_not_count_as_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moment = Time(monkeypatch)
    clock = StageClock({"steps": 1.0})
    moment.now_s = 1.0
    assert clock.progress("steps", 50, 100).remaining_s is None
    moment.now_s = 11.0
    assert clock.progress("steps", 60, 100).remaining_s == pytest.approx(40)


def test_a_pause_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = Time(monkeypatch)
    control = Control()

    def work():
        clock = StageClock({"steps": 1.0})
        clock.progress("steps", 1, 100)
        yield
        yield clock.progress("steps", 11, 100)

    steps = controlled(work(), control)
    next(steps)
    moment.now_s, control.paused_s = 110.0, 100.0
    event = next(steps)
    assert (event.elapsed_s, event.remaining_s) == (10, pytest.approx(89))


def test_no_estimate_before_there_is_a_speed() -> None:
    remaining = RemainingTime(min_s=2.0)
    assert remaining.estimate_s(0.0, 0.0) is None
    assert remaining.estimate_s(1.0, 0.1) is None
    assert remaining.estimate_s(2.0, 0.2) is None, "less than min_s since the first step"
    assert remaining.estimate_s(5.0, 0.5) == pytest.approx(5)
