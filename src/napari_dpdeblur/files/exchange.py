"""Swap two folders atomically, on systems that support it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def exchanged(first: Path, second: Path) -> bool:
    """Swap two folders and return True; False if the system does not support it."""
    names = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "linux":
            function = library.renameat2
            return bool(function(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
        if sys.platform == "darwin":
            return bool(library.renamex_np(names[0], names[1], _RENAME_SWAP) == 0)
    except (AttributeError, OSError, TypeError):  # not supported by this system
        pass
    return False
