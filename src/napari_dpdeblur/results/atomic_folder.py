"""Atomic writes of whole folders."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import leftovers
from napari_dpdeblur.files.atomic import sync_file, sync_folder
from napari_dpdeblur.files.exchange import exchanged


def check_output_folder(folder: Path, overwrite: bool, known_files: Collection[str]) -> None:
    """Refuse an output folder whose content must not be replaced.

    An empty folder is accepted. With `overwrite`, a folder that contains only `known_files` is
    accepted as well, so a typing error cannot delete other files.
    """
    if not folder.exists():
        _check_place(folder)
        return
    if not folder.is_dir():
        raise ResultError(f"The output {folder} is a file; choose the name of a new folder.")
    present = sorted(entry.name for entry in folder.iterdir())
    if present and not overwrite:
        remedy = "choose another name" + (" or enable overwriting" if known_files else "")
        raise ResultError(f"The output folder {folder} already exists; {remedy}.")
    foreign = [name for name in present if name not in known_files]
    if foreign:
        raise ResultError(
            f"The output folder {folder} contains {foreign[0]}, which is not part of a run; "
            "move it or choose another name."
        )


def _check_place(folder: Path) -> None:
    """Refuse a location where no folder can be created, before a long computation."""
    above = next(path for path in Path(os.path.abspath(folder)).parents if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "is not a folder" if not above.is_dir() else "is not writable"
        raise ResultError(
            f"The output folder {folder} cannot be created because {above} {reason}; choose "
            "another location."
        )


@contextmanager
def atomic_folder(folder: Path, overwrite: bool, known_files: Collection[str]) -> Iterator[Path]:
    """Yield an empty temporary sibling, which is renamed to `folder` on success.

    On failure the sibling is removed and `folder` is left unchanged. The sibling of a killed
    process is removed by the next writer of the same folder.
    """
    folder = Path(os.path.abspath(folder))
    leftovers.restore(folder)
    leftovers.clear(folder)
    check_output_folder(folder, overwrite, known_files)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=leftovers.prefix(folder), dir=folder.parent))
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        yield partial
        _open_to_others(partial)
        _flush(partial)
        check_output_folder(folder, overwrite, known_files)
        _take_name(partial, folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _cannot_write(folder: Path, error: OSError) -> ResultError:
    # NumPy reports a full disk as "n requested and m written", without the system's message.
    reason = error.strerror or f"{error}; is the disk full?"
    return ResultError(
        f"The output folder {folder} cannot be written ({reason}); "
        "free disk space or choose another folder."
    )


def _open_to_others(folder: Path) -> None:
    """Set default permissions; a temporary folder is private to its owner."""
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)


def _flush(folder: Path) -> None:
    """Flush the content to disk before the rename, so that a power failure loses nothing."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync_file(path)
    sync_folder(folder)


def _take_name(partial: Path, folder: Path) -> None:
    """Rename, so that `folder` is either the old one or the new one at any time."""
    if not folder.exists():
        partial.rename(folder)
    elif not exchanged(partial, folder):  # after a swap, the old one is removed as the partial one
        _retire(partial, folder)


def _retire(partial: Path, folder: Path) -> None:
    """Replace by two renames if the system cannot swap; a crash between them is repaired later."""
    retired = Path(tempfile.mkdtemp(prefix=leftovers.retired_prefix(folder), dir=folder.parent))
    previous = retired / folder.name
    try:
        folder.rename(previous)
        partial.rename(folder)
    except OSError:
        if previous.exists():
            previous.rename(folder)
        retired.rmdir()
        raise
    shutil.rmtree(retired, ignore_errors=True)
