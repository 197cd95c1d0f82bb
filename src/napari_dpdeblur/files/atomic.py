"""A file that appears complete or not at all: written beside its place, synced, renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from napari_dpdeblur.files import leftovers


@contextmanager
def atomic_file(path: Path, overwrite: bool = True) -> Iterator[Path]:
    """Give the path of a sibling to write; it takes the name ``path`` when all went well.

    Whatever goes wrong before, the sibling is removed and ``path`` is left as it was. Raises
    OSError, which the caller turns into a sentence; FileExistsError without ``overwrite``.
    """
    path = Path(os.path.abspath(path))
    if not overwrite and path.exists():
        raise FileExistsError(17, "File exists", str(path))
    leftovers.clear(path)
    # The suffix stays at the end: writers choose the format by it.
    beside = path.with_name(f"{leftovers.prefix(path)}{secrets.token_hex(6)}{path.suffix}")
    try:
        yield beside
        sync_file(beside)
        _take_name(beside, path, overwrite)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes, overwrite: bool = True) -> None:
    """Write a whole file, complete or not at all."""
    with atomic_file(path, overwrite) as beside:
        beside.write_bytes(content)


def sync_file(path: Path) -> None:
    """Put a file's content on the disk, so that a power cut after the rename loses nothing."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; not every system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _take_name(beside: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        beside.replace(path)
        return
    try:
        os.link(beside, path)  # unlike a rename, refuses a name that somebody took meanwhile
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        beside.rename(path)
