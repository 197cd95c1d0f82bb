"""Clean up temporary files and folders that killed processes left behind."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

import psutil

OLD_S = 24 * 3600.0
NAME_BYTES = 80
_OWNER = re.compile(r"(.*)\.(\d+)-[^-]*")


def prefix(path: Path) -> str:
    """Prefix of temporary siblings of a file or folder; it identifies the writing process."""
    return f"{_start(path)}.partial-{_host()}.{os.getpid()}-"


def retired_prefix(folder: Path) -> str:
    """Prefix of folders that keep the old content during a replacement."""
    return f"{_start(folder)}.old-"


def restore(folder: Path) -> None:
    """Restore old content that was never replaced."""
    with suppress(OSError):
        for retired in _siblings(folder, retired_prefix(folder)):
            previous = retired / folder.name
            if previous.exists() and not folder.exists():
                previous.rename(folder)
                retired.rmdir()


def clear(path: Path) -> None:
    """Remove temporary siblings of processes that no longer exist."""
    with suppress(OSError):
        for partial in _siblings(path, f"{_start(path)}.partial-"):
            if not _is_abandoned(partial):
                continue
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)


def _start(path: Path) -> str:
    """The beginning of the name: file systems limit its bytes, not its characters."""
    return f".{path.name.encode(errors='replace')[:NAME_BYTES].decode(errors='ignore')}"


def _host() -> str:
    return re.sub(r"[^\w]", "_", platform.node(), flags=re.ASCII)[:40]


def _siblings(path: Path, start: str) -> list[Path]:
    if not path.parent.is_dir():
        return []
    return [other for other in path.parent.iterdir() if other.name.startswith(start)]


def _is_abandoned(partial: Path) -> bool:
    """Whether the process that created it has ended, or it is older than a day."""
    owner = _OWNER.fullmatch(partial.name.rpartition(".partial-")[2])
    if owner is not None and owner.group(1) == _host():
        return not psutil.pid_exists(int(owner.group(2)))
    return time.time() - partial.stat().st_mtime > OLD_S
