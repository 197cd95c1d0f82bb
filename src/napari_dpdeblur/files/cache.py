"""The cache folder, for data that can be downloaded or computed again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "DPDEBLUR_CACHE"


def user_cache(part: str) -> Path:
    """A subfolder of the user's cache, which may not exist yet; ``DPDEBLUR_CACHE`` overrides it."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder) / part
    import pooch

    return Path(pooch.os_cache("napari-dpdeblur")) / part
