"""Read untrusted files: regular files of limited size, inside their folder."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from napari_dpdeblur.errors import DpDeblurError, shortened

BLOCK_BYTES = 1 << 20


@contextmanager
def accessing(path: str | os.PathLike[str], error: type[DpDeblurError]) -> Iterator[None]:
    """Turn the OSError of a path that nobody may look at, or that is too long, into ``error``."""
    try:
        yield
    except OSError as reason:
        raise error(
            f"{shortened(path)} cannot be accessed: {reason.strerror or reason}."
        ) from reason


@contextmanager
def open_regular(path: Path) -> Iterator[tuple[IO[bytes], int]]:
    """Open a regular file; yields the stream and its size.

    A pipe or device, which could block or never end, is an OSError.
    """
    # Without O_NONBLOCK, opening a named pipe waits for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(22, "it is not a regular file", str(path))
        yield file, found.st_size


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read a regular file; OSError if it is larger than ``max_bytes``."""
    with open_regular(path) as (file, size_bytes):
        if size_bytes > max_bytes:
            raise OSError(27, f"it is larger than {max_bytes / 1e6:g} MB", str(path))
        return file.read(size_bytes)  # for any more, Python would allocate all of it first


def digest(path: Path) -> str:
    """SHA-256 of a regular file, read in blocks."""
    found = hashlib.sha256()
    with open_regular(path) as (file, _):
        while block := file.read(BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def check_inside(path: Path, folder: Path) -> None:
    """Raise OSError if a path leaves a folder through a link."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except RuntimeError:  # circular links, before Python 3.13
        inside = False
    if not inside:
        raise OSError(1, f"it is a link to a file outside {folder}", str(path))
