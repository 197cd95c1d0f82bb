"""Threads share one heap, as the C library itself counts them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

THREADS = """
import ctypes
from concurrent.futures import ThreadPoolExecutor
from napari_dpdeblur.computing.heap import share_one_heap

{prepare}
with ThreadPoolExecutor(3) as pool:
    list(pool.map(lambda size: ctypes.create_string_buffer(size), [100, 10_000] * 100))
    ctypes.CDLL(None).malloc_stats()
"""


def heaps(prepare: str) -> int:
    """How many heaps a process has after its threads have allocated memory."""
    environment = {n: v for n, v in os.environ.items() if not n.startswith("MALLOC_")}
    code = [sys.executable, "-c", THREADS.format(prepare=prepare)]
    printed = subprocess.run(code, env=environment, capture_output=True, text=True, check=True)
    return printed.stderr.count("Arena")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_threads_share_one_heap() -> None:
    assert heaps("") > 1
    assert heaps("share_one_heap()") == 1
