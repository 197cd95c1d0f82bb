"""Start jobs and hear from them; no process may be left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.generators import finish
from napari_dpdeblur.jobs.messages import ENDS, Job, Message
from napari_dpdeblur.jobs.process import JobProcess

PATIENCE_S = 240  # on a machine with much else to do
JobFunction = Callable[[Any], Generator[Message, None, Any]]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    """Every test ends with as many processes as it began."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    children = [c for c in psutil.Process().children(recursive=True) if c.pid not in before]
    _, alive = psutil.wait_procs(children, timeout=5)
    for child in alive:
        child.kill()
    assert not alive


@pytest.fixture
def start() -> Iterator[Callable[..., JobProcess]]:
    """``start(name, request)``: begin a job of `example_jobs`, or of "module:name"."""
    started = []

    def begin(name: str, request: Any = None, **options: Any) -> JobProcess:
        function = name if ":" in name else f"example_jobs:{name}"
        started.append(JobProcess(Job(function, request, "The fit"), **options))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait(5)


@pytest.fixture
def here() -> Callable[..., tuple[list[Message], Any]]:
    """``here(function, request)``: messages and result of a job, run in this process.

    For what a job does; what the process around it does is tested with ``start``.
    """

    def run(function: JobFunction, request: Any, control: Control | None = None):
        messages: list[Message] = []
        steps = controlled(function(request), control or Control())
        return messages, finish(steps, messages.append)

    return run


@pytest.fixture
def until() -> Callable[..., list[Message]]:
    """``until(process, kind)``: all messages up to the first of a kind, the end by default."""

    def collect(process: JobProcess, *kinds: type) -> list[Message]:
        messages: list[Message] = []
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            for message in process.messages():
                messages.append(message)
            if any(isinstance(message, kinds or ENDS) for message in messages):
                return messages
            time.sleep(0.005)
        raise AssertionError(f"nothing more came after {messages[-1:]}")

    return collect
