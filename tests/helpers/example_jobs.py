"""Jobs that only tests run, in the same child process as the real ones."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import numpy as np

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.jobs.messages import Message, Note, Progress


def count(request: int) -> Generator[Message, None, np.ndarray]:
    """So many steps, then an array."""
    print("a library that prints must not disturb the pipe")
    for step in range(1, request + 1):
        yield Progress("counting", step, request, step / request)
    yield Note("counted")
    return np.arange(request * 100_000, dtype=np.float32).reshape(request, -1)


def step_for_ever(request: Any) -> Generator[Message, None, None]:
    """Steps of 10 ms of work until it is cancelled; ``request`` is ignored."""
    step = 0
    while True:
        step += 1
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            check_cancelled()
        picture = np.full((4, 5), step, np.float32)
        yield Progress("stepping", step, 0, 0.5, {"loss": 1 / step}, picture, picture)


def be_deaf(request: Any) -> Generator[Message, None, None]:
    """Never looks at the control."""
    yield Progress("deaf", 1, 1, 0.5)
    while True:
        time.sleep(60)


def fail(request: Exception) -> Generator[Message, None, None]:
    """Raises what it is given."""
    yield Progress("failing", 1, 1, 0.5)
    raise request


def use_too_much(request: int) -> Generator[Message, None, None]:
    """Asks torch for so many bytes, again and again until somebody has limited the memory."""
    import torch

    yield Progress("filling memory", 1, 1, 0.5)
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            torch.empty(request, dtype=torch.uint8)
            time.sleep(0.01)
    except RuntimeError as error:
        raise FitError(f"The fit ran out of memory on cpu: {error}") from error
