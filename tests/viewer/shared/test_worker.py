"""A job as signals on the GUI thread."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QWidget
from resting import assert_rests

from napari_dpdeblur.jobs.messages import Job, Note, Progress
from napari_dpdeblur.viewer.shared.worker import Worker, _without_old_pictures
from napari_dpdeblur.viewer.shared.worker_panel import PausableTimer, WorkerPanel, duration_text

PATIENCE_MS = 60_000
SOON_S = 20  # one second on a quiet machine: benchmarks/heartbeat.py
TITLE = "The fit"


@pytest.fixture
def worker(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    made = Worker(parent)
    yield made
    made.kill()


def job(name, request=None):
    return Job(f"example_jobs:{name}", request, TITLE)


def test_signals_come_in_order_and_on_the_gui_thread(qtbot, worker):
    heard = []
    for name in ("progressed", "note", "finished", "ended"):
        getattr(worker, name).connect(
            lambda *values, name=name: heard.append((name, threading.current_thread()))
        )
    with qtbot.waitSignal(worker.ended, timeout=PATIENCE_MS):
        worker.start(job("count", 3))
    assert [name for name, _ in heard] == ["progressed"] * 3 + ["note", "finished", "ended"]
    assert {thread for _, thread in heard} == {threading.main_thread()}
    assert not worker.is_running


def test_collections_are_short_while_a_job_runs(qtbot, worker, nobody_froze):
    before = gc.get_freeze_count()
    worker.start(job("count", 3))
    assert gc.get_freeze_count() > before
    qtbot.waitUntil(lambda: not worker.is_running, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: gc.get_freeze_count() == before)
    worker.start(job("count", 3))
    worker.kill()
    assert gc.get_freeze_count() == before


def test_the_result_is_prepared_in_a_thread(qtbot, worker):
    def prepare(result):
        return result.sum(), threading.current_thread()

    with qtbot.waitSignal(worker.finished, timeout=PATIENCE_MS) as found:
        worker.start(job("count", 1), prepare)
    total, thread = found.args[0]
    assert total == pytest.approx(np.arange(100_000).sum())
    assert thread is not threading.main_thread()


def test_cancel_gives_the_last_pictures_within_a_second(qtbot, worker):
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.start(job("step_for_ever"))
    begin = time.monotonic()
    with qtbot.waitSignal(worker.cancelled, timeout=PATIENCE_MS) as partial:
        worker.cancel()
    assert time.monotonic() - begin < SOON_S
    seen = partial.args[0]
    assert seen.all_in_focus[0, 0] == seen.step
    assert seen.defocus_map.shape == (4, 5)


def test_pause_rests(qtbot, worker):
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.start(job("step_for_ever"))
    worker.pause()
    assert worker.is_paused
    assert_rests(psutil.Process(worker.pid), qtbot.wait)
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.resume()


@pytest.mark.skipif(os.name != "posix", reason="kills as only POSIX systems can")
def test_a_killed_child_is_a_failure_and_the_next_job_runs(qtbot, worker):
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.start(job("step_for_ever"))
    with qtbot.waitSignal(worker.failed, timeout=PATIENCE_MS) as failure:
        os.kill(worker.pid, signal.SIGKILL)
    assert "was terminated (SIGKILL)" in failure.args[0]
    with qtbot.waitSignal(worker.finished, timeout=PATIENCE_MS):
        worker.start(job("count", 1))


def test_torch_errors_are_failures_with_details_in_the_log(qtbot, worker, caplog):
    with qtbot.waitSignal(worker.failed, timeout=PATIENCE_MS) as failure:
        worker.start(job("fail", RuntimeError("CUDA error: device-side assert triggered")))
    assert failure.args[0] == (
        "The fit failed unexpectedly: CUDA error: device-side assert triggered"
    )
    assert "Traceback" in caplog.text


def test_the_child_ends_with_the_widget(qtbot):
    parent = QWidget()
    worker = Worker(parent)
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.start(job("be_deaf"))
    child = psutil.Process(worker.pid)
    parent.deleteLater()
    del parent
    qtbot.waitUntil(lambda: not child.is_running(), timeout=60_000)


def test_of_pictures_that_arrive_together_only_the_newest_stay():
    picture = np.zeros((2, 2), np.float32)
    messages = [
        Progress("a", 1, 3, 0.1, all_in_focus=picture, defocus_map=picture),
        Note("between"),
        Progress("a", 2, 3, 0.2, {"loss": 1.0}, all_in_focus=picture),
    ]
    first, note, last = _without_old_pictures(messages)
    assert first.all_in_focus is None
    assert first.defocus_map is picture
    assert note == Note("between")
    assert last.all_in_focus is picture
    assert last.losses == {"loss": 1.0}


def test_the_window_lives_while_a_job_floods_it(qtbot, worker):
    """A looser bound than that of benchmarks/heartbeat.py, for noisy machines."""
    beats = []
    timer = QTimer()
    timer.timeout.connect(lambda: beats.append(time.perf_counter()))
    with qtbot.waitSignal(worker.progressed, timeout=PATIENCE_MS):
        worker.start(job("step_for_ever"))
    timer.start(20)
    qtbot.wait(2000)
    timer.stop()
    assert np.quantile(np.diff(beats), 0.9) < 0.3


def test_panel_shows_progress_and_leaves_the_buttons_right(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    panel = WorkerPanel("Run", "the fit", parent)
    with qtbot.waitSignal(panel.worker.progressed, timeout=PATIENCE_MS):
        panel.start(job("step_for_ever"))
    qtbot.waitUntil(lambda: panel.bar.value() == 500)
    assert panel.status.text() == "stepping"
    assert not panel.run_button.isEnabled()
    panel.pause_button.click()
    assert panel.pause_button.text() == "Resume"
    assert panel.status.text() == "Paused."
    panel.pause_button.click()
    assert panel.pause_button.text() == "Pause"
    with qtbot.waitSignal(panel.worker.ended, timeout=PATIENCE_MS):
        panel.cancel_button.click()
    assert panel.run_button.isEnabled()
    assert not panel.cancel_button.isEnabled()


def test_the_timer_counts_without_pauses(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    watch = PausableTimer()
    now[0] += 5  # the child starts
    now[0] += 10
    watch.pause()
    now[0] += 1000
    assert watch.elapsed_s() == pytest.approx(15)
    watch.resume()


def test_durations_are_for_people():
    assert [duration_text(s) for s in (0.2, 59.6, 300, 7200)] == ["1 s", "60 s", "5 min", "2.0 h"]
