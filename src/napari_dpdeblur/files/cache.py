"""The folder in which the program keeps what it could fetch or compute again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "DPDEBLUR_CACHE"


def user_cache(part: str) -> Path:
    """A part of the user's cache, which may not exist yet; the variable names another place."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder) / part
    import pooch

    return Path(pooch.os_cache("napari-dpdeblur")) / part
