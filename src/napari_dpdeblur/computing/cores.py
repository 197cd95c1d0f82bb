"""Compute independent items on all cores; results come in the order of the items.

Torch itself divides single operations between cores, which gains little where each takes less than
a millisecond. Here each core works on items of its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import TypeVar

import torch

Item = TypeVar("Item")
Computed = TypeVar("Computed")

_thread = threading.local()


def in_order(
    compute: Callable[[Item], Computed], items: Iterable[Item], device: torch.device | None
) -> Iterator[Computed]:
    """Results of ``compute`` for each item, a few computed ahead by as many threads as torch has.

    Without gradients. Other devices than a CPU, and threads of this pool itself, compute one after
    the other.
    """
    count = 1 if hasattr(_thread, "is_worker") else torch.get_num_threads()
    if count == 1 or device is None or device.type != "cpu":
        yield from map(compute, items)
        return
    pool = _pool(count, os.getpid())
    ahead: deque[Future[Computed]] = deque()
    try:
        for item in items:
            ahead.append(pool.submit(copy_context().run, _without_gradients, compute, item))
            if len(ahead) > count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


def in_background(task: Callable[[], object]) -> None:
    """Do what a computation will need later, such as an import, if there is another core."""
    count = torch.get_num_threads()
    if count > 1:
        _pool(count, os.getpid()).submit(task)


def begun(compute: Callable[[], Computed], device: torch.device) -> Callable[[], Computed]:
    """Begin on another core, if a CPU has one; what is returned waits for the result.

    Without gradients.
    """
    count = 1 if hasattr(_thread, "is_worker") else torch.get_num_threads()
    if count == 1 or device.type != "cpu":
        return compute
    pool, context = _pool(count, os.getpid()), copy_context()
    return pool.submit(context.run, _without_gradients, lambda _: compute(), None).result


def _without_gradients(compute: Callable[[Item], Computed], item: Item) -> Computed:
    with torch.no_grad():
        return compute(item)


@lru_cache(maxsize=2)
def _pool(count: int, process: int) -> ThreadPoolExecutor:
    """Threads that use one core each; a forked process needs its own."""
    pool = ThreadPoolExecutor(count, "dpdeblur-core")
    all_started = threading.Barrier(count)

    def start() -> None:
        _thread.is_worker = True
        torch.get_num_threads()  # or the default would replace what is set now
        torch.set_num_threads(1)  # of this thread, but also the default of future ones
        all_started.wait()

    for started in [pool.submit(start) for _ in range(count)]:
        started.result()
    torch.set_num_threads(count)
    return pool
