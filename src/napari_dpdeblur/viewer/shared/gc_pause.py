"""Keep Python's garbage collections short while a job runs.

A full collection looks at every object of napari and of all plugins: a fifth of a second in which
the window does not respond. Existing objects are frozen meanwhile, so that only new ones are
looked at; afterwards everything is collected as usual.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

_requests: set[object] = set()
_frozen_here = False


def pause_full_collection() -> Callable[..., None]:
    """Freeze existing objects until the returned function is called; GUI thread only."""
    global _frozen_here
    need = object()
    if not _requests and gc.get_freeze_count() == 0:  # what somebody else froze is not ours to thaw
        _frozen_here = True
        gc.freeze()
    _requests.add(need)
    return lambda *_: _release(need)


def _release(need: Any) -> None:
    global _frozen_here
    _requests.discard(need)
    if not _requests and _frozen_here:
        _frozen_here = False
        gc.unfreeze()
