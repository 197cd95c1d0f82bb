"""One heap for all threads, in processes that run one computation. Loads no torch."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_ARENA_MAX = -8  # option of glibc's mallopt: how many heaps there may be


def share_one_heap() -> None:
    """Have all threads that start from now on allocate from the same heap.

    With glibc, each thread has a heap of its own otherwise, and keeps what is freed there: a third
    of the memory of a fit. Other C libraries have no such option.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
