"""What a folder contains: captures, calibrations and a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pairing import plausible_captures, recognised_at
from napari_dpdeblur.errors import CaptureError, DpDeblurError

RUN_FILE, MPI_FILE = "run.yaml", "mpi.tif"
CALIBRATION_SUFFIX = ".dpcal"
KERNEL_FILE = "blur_kernels_left.npy"
WHITE_SHEET = "white_sheet"  # how the files of a published calibration begin
CALIBRATION_FOLDER = "calibration"

Files = tuple[Path, ...]
Found = tuple[list[Files], str]  # captures, and why nothing was found


@dataclass(frozen=True)
class FolderContents:
    """Files of each capture, paths of the calibrations, and whether the folder is a run."""

    captures: tuple[Files, ...]
    calibrations: tuple[Path, ...]
    is_run: bool


def contents_of(folder: Path) -> FolderContents:
    """Everything in a folder that the plugin opens."""
    return FolderContents(
        tuple(sorted(captures_in(folder))), tuple(calibrations_in(folder)), is_run(folder)
    )


def has_contents(folder: Path) -> bool:
    """Whether there is anything to open; quick in large folders."""
    if is_run(folder) or calibrations_in(folder):
        return True
    return next(captures_in(folder), None) is not None


def is_run(folder: Path) -> bool:
    """Whether a folder has the files of a run."""
    return (folder / RUN_FILE).is_file() and (folder / MPI_FILE).is_file()


def captures_in(folder: Path) -> Iterator[Files]:
    """Files of each capture; the white sheets of a calibration are none."""
    try:
        for files in plausible_captures(folder):
            if not _is_white_sheet(files[0]):
                yield files
    except CaptureError:  # such as a folder that nobody may read
        return


def calibrations_in(folder: Path) -> list[Path]:
    """Calibration files, and the folder itself if it has a published calibration."""
    files = sorted(folder.glob(f"*{CALIBRATION_SUFFIX}"))
    return [*([folder] if is_published_calibration(folder) else []), *files]


def is_published_calibration(folder: Path) -> bool:
    """Whether a folder, or its folder "calibration", has the published kernels."""
    return any((base / KERNEL_FILE).is_file() for base in (folder, folder / CALIBRATION_FOLDER))


def _is_white_sheet(path: Path) -> bool:
    return path.name.startswith(WHITE_SHEET) and (path.parent / KERNEL_FILE).is_file()


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
        open_capture(path)  # says why there is nothing to open
    return found
