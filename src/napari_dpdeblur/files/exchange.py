"""Exchange the names of two folders in one step, where the system can."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def exchanged(first: Path, second: Path) -> bool:
    """Whether both names were exchanged; False, with nothing changed, where that is impossible."""
    names = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "linux":
            function = library.renameat2
            return bool(function(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
        if sys.platform == "darwin":
            return bool(library.renamex_np(names[0], names[1], _RENAME_SWAP) == 0)
    except (AttributeError, OSError, TypeError):  # no such function in this system's library
        pass
    return False
