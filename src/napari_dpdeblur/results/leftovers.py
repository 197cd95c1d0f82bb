"""What a killed process leaves beside a folder that it was writing, and how it goes away."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

OLD_S = 24 * 3600.0
NAME_LENGTH = 80
_OWNER = re.compile(r"(.*)\.(\d+)-[^-]*")


def prefix(folder: Path) -> str:
    """How the names of unfinished siblings of a folder begin: they tell who writes them."""
    return f"{_start(folder)}.partial-{_host()}.{os.getpid()}-"


def retired_prefix(folder: Path) -> str:
    """How the name of a folder begins that keeps the old content for a moment."""
    return f"{_start(folder)}.old-"


def clear(folder: Path) -> None:
    """Bring back content that was retired but never replaced; remove what is unfinished."""
    with suppress(OSError):
        for retired in _siblings(folder, retired_prefix(folder)):
            previous = retired / folder.name
            if previous.exists() and not folder.exists():
                previous.rename(folder)
                retired.rmdir()
        for partial in _siblings(folder, f"{_start(folder)}.partial-"):
            if _is_abandoned(partial):
                shutil.rmtree(partial, ignore_errors=True)


def _start(folder: Path) -> str:
    return f".{folder.name[:NAME_LENGTH]}"


def _host() -> str:
    return re.sub(r"[^\w]", "_", platform.node())[:40]


def _siblings(folder: Path, start: str) -> Iterator[Path]:
    if folder.parent.is_dir():
        yield from [path for path in folder.parent.iterdir() if path.name.startswith(start)]


def _is_abandoned(partial: Path) -> bool:
    """Whether the process that made it is gone, or it is so old that nobody can still be at it."""
    owner = _OWNER.fullmatch(partial.name.rpartition(".partial-")[2])
    if owner is not None and owner.group(1) == _host():
        return not psutil.pid_exists(int(owner.group(2)))
    return time.time() - partial.stat().st_mtime > OLD_S
