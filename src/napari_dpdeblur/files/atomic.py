"""Atomic writes: a temporary sibling is written, synced and renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from napari_dpdeblur.files import leftovers
from napari_dpdeblur.files.destination import written_path

MAX_SUFFIX = 16


@contextmanager
def atomic_file(path: Path, overwrite: bool = True, follows_link: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary sibling, which is renamed to ``path`` on success.

    On failure the sibling is removed and ``path`` is left unchanged. A link stays: what it leads
    to is replaced. Without ``follows_link``, the link itself is: for files that the user did not
    name, whose links may lead anywhere. Raises OSError, which the caller turns into a message;
    FileExistsError without ``overwrite``.
    """
    path = written_path(path) if follows_link else Path(os.path.abspath(path))
    if not overwrite and path.exists():
        raise FileExistsError(17, "File exists", str(path))
    leftovers.clear(path)
    # The suffix stays last, because writers choose the format by it.
    suffix = path.suffix if len(path.suffix) <= MAX_SUFFIX else ""
    beside = path.with_name(f"{leftovers.prefix(path)}{secrets.token_hex(6)}{suffix}")
    try:
        yield beside
        sync_file(beside)
        _take_name(beside, path, overwrite)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_atomically(
    path: Path, content: bytes, overwrite: bool = True, follows_link: bool = True
) -> None:
    """Write a file atomically, as :func:`atomic_file` does."""
    with atomic_file(path, overwrite, follows_link) as beside:
        beside.write_bytes(content)


def sync_file(path: Path) -> None:
    """Flush a file to disk, so that a power failure after the rename loses nothing."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, on systems that support it."""
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
        os.link(beside, path)  # unlike a rename, fails if the name has been taken meanwhile
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        beside.rename(path)
