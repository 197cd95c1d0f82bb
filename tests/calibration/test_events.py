"""What a running calibration tells, and how it is cancelled."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration, Field
from napari_dpdeblur.calibration.events import STAGES, CalibrationClock
from napari_dpdeblur.calibration.run import calibrate, calibration_events
from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.errors import OperationCancelled
from napari_dpdeblur.generators import finish

FIELD = Field(24, 32, 336, 416)


@pytest.fixture(scope="module")
def quick(small_settings):
    return small_settings.model_copy(update={"iterations": 2})


def test_events_cover_the_run_in_order(small_captures, small_target, quick):
    events = []
    found = calibrate(small_captures, small_target, quick, field=FIELD, on_event=events.append)
    assert isinstance(found, Calibration)
    fractions = [event.fraction for event in events]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert events[-1].remaining_s == 0
    order = [STAGES.index(event.stage) for event in events]
    assert order == sorted(order)
    assert set(order) == set(range(len(STAGES)))
    for stage in STAGES:
        last = [event for event in events if event.stage == stage][-1]
        assert last.step == last.total
    assert any(event.detail == "tile 6 of 6" for event in events)
    assert events[-1].detail == f"verdict: {found.verdict['grade']}"


def test_the_discs_that_were_found_are_shown_early(small_captures, small_target, quick):
    for event in calibration_events(small_captures, small_target, quick, field=FIELD):
        if event.discs is not None:
            break
    assert event.stage == "discs"
    assert "discs found" in event.detail
    x, y = np.rint(event.discs[:, :2]).astype(int).T
    assert event.thumbnail[y, x].mean() > 1.5 * event.thumbnail.mean()


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_run_is_cancelled_between_steps(after, small_captures, small_target, quick):
    control, events = Control(), []
    steps = controlled(
        calibration_events(small_captures, small_target, quick, field=FIELD), control
    )
    with pytest.raises(OperationCancelled):  # noqa: PT012
        while True:
            if len(events) == after:
                control.cancel()
            events.append(next(steps))
    assert len(events) == after


class CountingControl(Control):
    """Cancels itself at the tenth check after the pattern was rendered."""

    def __init__(self, events):
        super().__init__()
        self.events, self.asked = events, 0

    def check(self):
        self.asked += bool(self.events) and self.events[-1].stage == "pattern"
        if self.asked > 10:
            self.cancel()
        super().check()


def test_a_run_is_cancelled_between_iterations(small_captures, small_target, small_settings):
    """After the pattern the run asks before every step of the solver, not only between tiles."""
    events = []
    steps = calibration_events(small_captures, small_target, small_settings, field=FIELD)
    with pytest.raises(OperationCancelled):
        finish(controlled(steps, CountingControl(events)), events.append)
    assert events[-1].stage == "pattern"


def test_remaining_time_needs_a_beginning():
    clock = CalibrationClock()
    assert clock.event("merging", 1, 4, "").remaining_s is None
    assert clock.event("kernels", 1, 2, "").remaining_s is not None
