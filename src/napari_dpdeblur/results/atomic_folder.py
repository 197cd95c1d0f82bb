"""A folder that appears complete or not at all."""

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
    """Refuse a folder that holds something which may not be replaced.

    An empty folder is free. With `overwrite`, a folder that holds nothing but `known_files` may
    be replaced: a typing error must not remove somebody's pictures.
    """
    if not folder.exists():
        _check_place(folder)
        return
    if not folder.is_dir():
        raise ResultError(f"The output {folder} is a file; choose the name of a new folder.")
    present = sorted(entry.name for entry in folder.iterdir())
    if present and not overwrite:
        remedy = "choose another name" + (" or ask for overwriting" if known_files else "")
        raise ResultError(
            f"The output folder {folder} already exists and is not overwritten; {remedy}."
        )
    foreign = [name for name in present if name not in known_files]
    if foreign:
        raise ResultError(
            f"The output folder {folder} holds {foreign[0]}, which is not part of a run; "
            "move it elsewhere or choose another name."
        )


def _check_place(folder: Path) -> None:
    """Refuse a place in which no folder can be made: better before a long computation."""
    above = next(path for path in Path(os.path.abspath(folder)).parents if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "is not a folder" if not above.is_dir() else "cannot be written to"
        raise ResultError(
            f"The output folder {folder} cannot be made, because {above} {reason}; choose another "
            "place."
        )


@contextmanager
def atomic_folder(folder: Path, overwrite: bool, known_files: Collection[str]) -> Iterator[Path]:
    """Give an empty sibling folder to write into; it takes the name `folder` when all went well.

    Whatever goes wrong before, the sibling is removed and `folder` is left as it was. A sibling
    that a killed process could not remove is removed by the next writer of the same folder.
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
    # numpy reports a full disk as "n requested and m written", without the system's message.
    reason = error.strerror or f"{error}, is the disk full?"
    return ResultError(
        f"The output folder {folder} cannot be written ({reason}); "
        "free space there or choose another folder."
    )


def _open_to_others(folder: Path) -> None:
    """Give the folder the rights of any new folder; a temporary one is private to its maker."""
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)


def _flush(folder: Path) -> None:
    """Put the content on the disk before the name changes, so that a power cut loses nothing."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync_file(path)
    sync_folder(folder)


def _take_name(partial: Path, folder: Path) -> None:
    """Rename, so that at every moment `folder` is the old one or the new one."""
    if not folder.exists():
        partial.rename(folder)
    elif not exchanged(partial, folder):  # else the old one is removed as the partial one
        _retire(partial, folder)


def _retire(partial: Path, folder: Path) -> None:
    """Two renames where a system has no exchange; a crash between them is mended later."""
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
