"""Search chosen files and folders for captures, in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pairing import plausible_captures, recognised_at
from napari_dpdeblur.errors import CaptureError, DpDeblurError
from napari_dpdeblur.viewer.open.folder import Files, captures_in

Found = tuple[list[Files], str]  # captures, and why nothing was found


def find_captures(paths: Sequence[Path]) -> Found:
    """Files of all captures in files and folders, and folders one level below them.

    Two files are one capture whatever they are called.
    """
    try:
        if len(paths) == 2 and not any(path.is_dir() for path in paths):
            return [_pair(paths)], ""
        found = [files for path in paths for files in _captures_at(path)]
    except DpDeblurError as error:
        return [], str(error)
    if not found:
        return [], f"{paths[0]} contains no dual-pixel capture; choose another folder."
    return list(dict.fromkeys(found)), ""


def _pair(paths: Sequence[Path]) -> Files:
    capture = open_capture(*paths)
    return tuple(Path(file) for file in capture.source.files)


def _captures_at(path: Path) -> list[Files]:
    if not path.is_dir():
        return [recognised_at(path)[1].files]
    found = sorted(captures_in(path))
    if not found:
        folders = sorted(inner for inner in path.iterdir() if inner.is_dir())
        found = [files for folder in folders for files in sorted(captures_in(folder))]
    if not found:
        _check(path)
    return found


def _check(folder: Path) -> None:
    """Raise the CaptureError that says why a folder has nothing to open."""
    if not any(True for _ in plausible_captures(folder)):
        try:
            open_capture(folder)
        except CaptureError as error:
            raise error from None
