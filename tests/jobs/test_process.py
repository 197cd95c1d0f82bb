"""A job in a child process: messages, control, and every way to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from resting import assert_rests

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.jobs.messages import Cancelled, Failed, Finished, Note, Progress

SOON_S = 20  # one second on a quiet machine: benchmarks/heartbeat.py


def test_messages_arrive_in_order_and_the_array_unharmed(start, until):
    messages = until(start("count", 3))
    steps = [m.step for m in messages if isinstance(m, Progress)]
    assert steps == [1, 2, 3]
    assert Note("counted") in messages
    result = messages[-1].result
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result.ravel(), np.arange(300_000))
    result[0, 0] = 5  # what arrives belongs to the receiver


def test_the_result_is_prepared_before_it_is_delivered(start, until):
    messages = until(start("count", 2, prepare=lambda result: result.shape))
    assert messages[-1] == Finished((2, 100_000))


def test_an_error_while_preparing_is_a_failure(start, until):
    messages = until(start("count", 1, prepare=lambda result: 1 / 0))
    assert isinstance(messages[-1], Failed)
    assert messages[-1].text == "The fit failed unexpectedly: division by zero"
    assert "ZeroDivisionError" in messages[-1].details


def test_cancel_of_a_willing_job(start, until):
    process = start("step_for_ever")
    until(process, Progress)
    begin = time.monotonic()
    process.cancel()
    assert isinstance(until(process)[-1], Cancelled)
    assert time.monotonic() - begin < SOON_S


def test_cancel_of_a_job_that_does_not_listen(start, until):
    process = start("be_deaf")
    until(process, Progress)
    begin = time.monotonic()
    process.cancel()
    assert isinstance(until(process)[-1], Cancelled)
    assert time.monotonic() - begin < SOON_S


def test_cancel_before_the_child_has_started(start, until):
    process = start("step_for_ever")
    process.cancel()
    assert isinstance(until(process)[-1], Cancelled)


def test_cancel_while_paused(start, until):
    process = start("step_for_ever")
    until(process, Progress)
    process.pause()
    process.cancel()
    assert isinstance(until(process)[-1], Cancelled)


def test_pause_rests_and_resume_goes_on(start, until):
    process = start("step_for_ever")
    until(process, Progress)
    process.pause()
    assert_rests(psutil.Process(process.pid))
    process.messages()  # from before the pause
    time.sleep(0.3)
    assert process.messages() == []
    process.resume()
    until(process, Progress)


def test_the_child_gives_way_to_others(start, until):
    process = start("step_for_ever")
    until(process, Progress)
    assert psutil.Process(process.pid).nice() > psutil.Process().nice()


def test_an_error_of_ours_is_told_in_its_own_words(start, until):
    messages = until(start("fail", CalibrationError("The calibration is of another camera.")))
    assert messages[-1] == Failed("The calibration is of another camera.")


def test_an_error_of_others_is_told_with_its_first_line(start, until):
    last = until(start("fail", RuntimeError("shapes differ\nat line 3")))[-1]
    assert last.text == "The fit failed unexpectedly: shapes differ"
    assert "example_jobs.py" in last.details


def test_a_system_error_in_the_job_is_no_lost_pipe(start, until):
    last = until(start("fail", OSError(28, "No space left on device")))[-1]
    assert "No space left on device" in last.text


@pytest.mark.skipif(os.name != "posix", reason="kills as only POSIX systems can")
def test_a_killed_child_is_noticed(start, until):
    process = start("step_for_ever")
    until(process, Progress)
    os.kill(process.pid, signal.SIGKILL)
    last = until(process)[-1]
    assert isinstance(last, Failed)
    assert last.text.startswith("The fit was terminated (SIGKILL), most likely because")


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by prlimit")
def test_too_little_memory_is_a_sentence(start, until):
    import resource

    process = start("use_too_much", 4_000_000_000)
    until(process, Progress)
    size = psutil.Process(process.pid).memory_info().vms
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size, size))
    last = until(process)[-1]
    assert isinstance(last, Failed)
    assert "memory" in last.text


def test_a_child_ends_with_its_parent():
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from napari_dpdeblur.jobs.messages import Job\n"
        "from napari_dpdeblur.jobs.process import JobProcess\n"
        "process = JobProcess(Job('example_jobs:be_deaf', None, 'The fit'))\n"
        "while not process.messages(): time.sleep(0.01)\n"
        "print(process.pid, flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parents[1] / "helpers")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(timeout=10)
    assert not child.is_running()


def test_the_working_folder_hides_no_module(start, until, tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise ImportError('the wrong pickle')")
    monkeypatch.chdir(tmp_path)
    assert isinstance(until(start("count", 1))[-1], Finished)
