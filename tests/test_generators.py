"""Computations that tell how they go."""

from __future__ import annotations

import pytest

from napari_dpdeblur.generators import finish, translated


def counting(last):
    yield from range(1, last + 1)
    return f"{last} steps"


def test_finish_tells_every_step_and_returns_the_result():
    seen = []
    assert finish(counting(3), seen.append) == "3 steps"
    assert seen == [1, 2, 3]
    assert finish(counting(2)) == "2 steps"


def test_translated_steps_keep_the_result():
    seen = []
    assert finish(translated(counting(2), lambda number: -number), seen.append) == "2 steps"
    assert seen == [-1, -2]


def test_an_end_inside_of_a_listener_is_not_the_end_of_the_computation():
    def careless(number):
        return next(iter(()))

    with pytest.raises(StopIteration):
        finish(counting(2), careless)


def test_a_computation_that_is_given_up_is_closed():
    ended = []

    def endless():
        try:
            while True:
                yield 0
        finally:
            ended.append(True)

    steps = translated(endless(), str)
    assert next(steps) == "0"
    steps.close()
    assert ended == [True]
