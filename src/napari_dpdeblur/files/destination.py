"""Check where something is to be written, before the time to compute it is spent."""

from __future__ import annotations

import os
from pathlib import Path

# Temporary siblings and the files of a folder have longer paths than the folder itself.
ROOM_BYTES = 200
_DEFAULT_LIMITS = {"PC_NAME_MAX": 255, "PC_PATH_MAX": 4096}


def written_path(path: Path) -> Path:
    """The absolute path that is written: what a link leads to, so that the link stays."""
    path = Path(os.path.abspath(path))
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def place_problem(path: Path) -> str | None:
    """Why nothing can be written at a path, such as "its name is too long"; None if it can."""
    path = Path(os.path.abspath(path))
    if "\0" in str(path):
        return "its name contains a null character"
    try:
        return _length_problem(path) or _link_problem(path) or _parent_problem(written_path(path))
    except OSError as error:
        return f"it cannot be accessed ({error.strerror or error})"


def _length_problem(path: Path) -> str | None:
    longest = max((len(os.fsencode(part)) for part in path.parts[1:]), default=0)
    most = _limit("PC_NAME_MAX")
    if longest > most:
        return f"a name of {longest} bytes is longer than the {most} bytes that are possible"
    length, most = len(os.fsencode(path)), _limit("PC_PATH_MAX") - ROOM_BYTES
    if length > most:
        return f"a path of {length} bytes is longer than the {most} bytes that are possible"
    return None


def _limit(name: str) -> int:
    try:
        return os.pathconf("/", name)
    except (AttributeError, OSError, ValueError):  # not on this system
        return _DEFAULT_LIMITS[name]


def _link_problem(path: Path) -> str | None:
    for part in (path, *path.parents):
        if part.is_symlink() and not part.exists():
            return f"{part} is a link to {os.readlink(part)}, which does not exist"
    return None


def _parent_problem(path: Path) -> str | None:
    above = next(parent for parent in path.parents if parent.exists())
    if not above.is_dir():
        return f"{above} is not a folder"
    if not os.access(above, os.W_OK | os.X_OK):
        return f"{above} is not writable"
    return None
