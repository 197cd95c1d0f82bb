"""What a folder contains: captures, calibrations and a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from napari_dpdeblur.capture.pairing import plausible_captures
from napari_dpdeblur.errors import CaptureError

RUN_FILE, MPI_FILE = "run.yaml", "mpi.tif"
CALIBRATION_SUFFIX = ".dpcal"
KERNEL_FILE = "blur_kernels_left.npy"
WHITE_SHEET = "white_sheet"  # how the files of a published calibration begin
CALIBRATION_FOLDER = "calibration"

Files = tuple[Path, ...]


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
