from __future__ import annotations

import contextlib
import threading

import pytest

from napari_dpdeblur.cancellation import Control, check_cancelled, controlled, paused_s
from napari_dpdeblur.errors import DpDeblurError, OperationCancelled
from napari_dpdeblur.generators import finish


def checked_elsewhere(control: Control) -> tuple[threading.Thread, threading.Event]:
    """A thread that checks once, and what is set when it has gone on."""
    done = threading.Event()

    def check() -> None:
        with contextlib.suppress(OperationCancelled):
            control.check()
        done.set()

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    return thread, done


def test_nothing_happens_unless_asked() -> None:
    control = Control()
    control.check()
    assert not control.paused
    assert not control.cancelled


def test_cancelling_raises_at_every_check() -> None:
    control = Control()
    control.cancel()
    assert control.cancelled
    for _ in range(2):
        with pytest.raises(
            OperationCancelled, match=r"^The computation was cancelled\.$"
        ) as caught:
            control.check()
        assert isinstance(caught.value, DpDeblurError)


@pytest.mark.parametrize("wake", ["resume", "cancel"])
def test_pausing_holds_until_told_otherwise(wake: str) -> None:
    control = Control()
    control.pause()
    assert control.paused
    thread, done = checked_elsewhere(control)
    assert not done.wait(0.2)
    getattr(control, wake)()
    assert done.wait(10)
    thread.join()
    assert not control.paused


def test_a_cancelled_fit_cannot_be_paused_for_ever() -> None:
    control = Control()
    control.cancel()
    control.resume()
    with pytest.raises(OperationCancelled):
        control.check()


def counting(seen: list[int]):
    """Checks before every step, and returns how many there were."""
    for step in range(5):
        check_cancelled()
        seen.append(step)
        yield step
    return len(seen)


def test_numeric_code_without_a_control_just_runs() -> None:
    check_cancelled()
    assert paused_s() == 0


def test_a_computation_obeys_its_control() -> None:
    control, seen = Control(), []
    steps = controlled(counting(seen), control)
    assert next(steps) == 0
    check_cancelled()  # between steps the control is not current
    control.cancel()
    check_cancelled()
    with pytest.raises(OperationCancelled):
        next(steps)
    assert seen == [0]


def test_two_computations_take_turns_under_their_own_controls() -> None:
    controls, seen = (Control(), Control()), ([], [])
    first, second = (controlled(counting(s), c) for s, c in zip(seen, controls, strict=True))
    next(first), next(second)
    controls[0].cancel()
    assert list(second) == [1, 2, 3, 4]
    with pytest.raises(OperationCancelled):
        next(first)


def test_the_result_comes_through_and_an_early_end_closes_the_computation() -> None:
    ended = []

    def computation():
        try:
            yield 1
            yield 2
        finally:
            ended.append(True)

    steps = controlled(computation(), Control())
    next(steps)
    steps.close()
    assert ended == [True]
    assert finish(controlled(counting([]), Control())) == 5
