"""Atomic writes of whole folders."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from napari_dpdeblur.errors import ResultError, shortened
from napari_dpdeblur.files import leftovers
from napari_dpdeblur.files.atomic import sync_file, sync_folder
from napari_dpdeblur.files.destination import place_problem, written_path
from napari_dpdeblur.files.exchange import exchanged


def check_output_folder(folder: Path, overwrite: bool, known_files: Collection[str]) -> None:
    """Refuse an output folder that cannot be created or whose content must not be replaced.

    An empty folder is accepted. With `overwrite`, a folder that contains only files of the names
    `known_files` is accepted as well, so a typing error cannot delete anything else.
    """
    problem = place_problem(folder)
    if problem is not None:
        raise ResultError(
            f"The output folder {shortened(folder)} cannot be created because {problem}; choose "
            "another location."
        )
    folder = written_path(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ResultError(f"The output {folder} is a file; choose the name of a new folder.")
    _check_access(folder)
    present = sorted(os.scandir(folder), key=lambda entry: entry.name)
    if present and not overwrite:
        remedy = "choose another name" + (" or enable overwriting" if known_files else "")
        raise ResultError(f"The output folder {folder} already exists; {remedy}.")
    _check_content(folder, present, known_files)


def _check_access(folder: Path) -> None:
    """Refuse an existing folder that could not be removed once it has been replaced."""
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise ResultError(
            f"The output folder {folder} is write-protected; choose another name or change its "
            "permissions."
        )
    if os.path.ismount(folder):
        raise ResultError(
            f"The output folder {folder} is the root of a file system, which cannot be replaced; "
            "choose a folder inside."
        )


def _check_content(
    folder: Path, present: Iterable[os.DirEntry[str]], known_files: Collection[str]
) -> None:
    for entry in present:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name not in known_files or is_folder:
            what = f"the folder {entry.name}" if is_folder else entry.name
            raise ResultError(
                f"The output folder {folder} contains {what}, which is not part of a run; "
                "move it or choose another name."
            )


@contextmanager
def atomic_folder(folder: Path, overwrite: bool, known_files: Collection[str]) -> Iterator[Path]:
    """Yield an empty temporary sibling, which is renamed to `folder` on success.

    On failure the sibling is removed and `folder` is left unchanged. The sibling of a killed
    process is removed by the next writer of the same folder.
    """
    check_output_folder(folder, overwrite, known_files)
    folder = written_path(folder)
    leftovers.restore(folder)
    leftovers.clear(folder)
    check_output_folder(folder, overwrite, known_files)  # what has been restored
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
        _take_name(partial, folder, known_files)
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


def _take_name(partial: Path, folder: Path, known_files: Collection[str]) -> None:
    """Rename, so that `folder` is either the old one or the new one at any time."""
    if not folder.exists():
        partial.rename(folder)
    elif exchanged(partial, folder):  # the old one is removed as the partial one
        try:
            _check_content(folder, list(os.scandir(partial)), known_files)
        except ResultError:  # added during the exchange
            exchanged(partial, folder)
            raise
    else:
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
