"""The thread that works on what was asked for last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("qtpy")
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results.refocus.renderer import Superseded
from napari_dpdeblur.viewer.shared.latest_task import LatestTask

PATIENCE_MS = 60_000  # for a machine that has other things to do


@pytest.fixture
def worker(qapp: Any) -> Iterator[LatestTask]:
    worker = LatestTask()
    yield worker
    worker.stop()


@pytest.fixture
def results(worker: LatestTask) -> list[Any]:
    found: list[Any] = []
    worker.done.connect(lambda key, value: found.append((key, value)))
    worker.failed.connect(lambda key, text: found.append((key, text)))
    return found


def _idle(worker: LatestTask) -> Callable[[], bool]:
    return lambda: not worker.is_busy


def test_results_arrive_on_the_main_thread(worker: LatestTask, qtbot: Any) -> None:
    seen: list[Any] = []
    worker.done.connect(lambda _, value: seen.append((value, threading.current_thread())))
    worker.submit(lambda _: threading.current_thread())
    assert worker.is_busy
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    ((worked_in, delivered_in),) = seen
    assert delivered_in is threading.main_thread()
    assert worked_in is not threading.main_thread()


def test_only_the_newest_of_those_that_wait_is_done(
    worker: LatestTask, results: list[Any], qtbot: Any
) -> None:
    started, gate = threading.Event(), threading.Event()

    def first(_: Any) -> bool:
        started.set()
        return gate.wait(5)

    worker.submit(first, "first")
    assert started.wait(5)
    for number in range(5):
        worker.submit(lambda _, n=number: n, number)
    gate.set()
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    assert results == [("first", True), (4, 4)]


def test_work_that_gives_way_is_told(worker: LatestTask, results: list[Any], qtbot: Any) -> None:
    started = threading.Event()

    def long(superseded: Callable[[], bool]) -> None:
        started.set()
        while not superseded():
            pass
        raise Superseded

    worker.submit(long, "long", gives_way=True)
    assert started.wait(5)
    worker.submit(lambda _: "quick", "quick")
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    assert results == [("quick", "quick")]


def test_dropped_work_delivers_nothing(worker: LatestTask, results: list[Any], qtbot: Any) -> None:
    gate = threading.Event()
    worker.submit(lambda _: gate.wait(5), "dropped")
    worker.drop()
    gate.set()
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    worker.submit(lambda _: 1, "next")
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    assert results == [("next", 1)]


def test_errors_become_sentences_and_the_thread_lives_on(
    worker: LatestTask, results: list[Any], qtbot: Any
) -> None:
    def fail(error: Exception) -> Callable[[Any], None]:
        def work(_: Any) -> None:
            raise error

        return work

    for error in (ResultError("No space."), MemoryError(), RuntimeError("odd")):
        worker.submit(fail(error), "key")
        qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    texts = [text for _, text in results]
    assert texts[0] == "No space."
    assert "Not enough memory; close other results" in texts[1]
    assert "Unexpected error (RuntimeError: odd); please report it." in texts[2]
    worker.submit(lambda _: "fine", "key")
    qtbot.waitUntil(_idle(worker), timeout=PATIENCE_MS)
    assert results[-1] == ("key", "fine")
