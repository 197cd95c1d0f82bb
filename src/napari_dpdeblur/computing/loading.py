"""Load large packages quickly, in processes that run one command. Loads no torch.

A package such as torch creates hundreds of thousands of objects that stay. Python's garbage
collector looks at all of them again and again while they are created, in each full collection
of a fit, and at the end of the process: 0.4 s together.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread


@contextmanager
def fast_loading() -> Iterator[None]:
    """Collect no garbage meanwhile, and never look at what was loaded again.

    In a process that has done so, or collects none anyway, nothing changes.
    """
    if not gc.isenabled() or gc.get_freeze_count() > 0:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.freeze)  # the system takes back the memory of the process


def load_ahead(package: str) -> None:
    """Load a package in a thread, while files are read."""
    Thread(target=import_module, args=(package,)).start()
