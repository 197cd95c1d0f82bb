"""Calibrations for a capture: those on disk near it, and whether one matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.file_format import read_header
from napari_dpdeblur.calibration.published_folder import PUBLISHED_FIELD, PUBLISHED_FRAME
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.header import LANDSCAPE
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.viewer.open.folder import (
    CALIBRATION_FOLDER,
    CALIBRATION_SUFFIX,
    KERNEL_FILE,
)

ESTIMATED = "The lens is estimated from this capture first, which takes a while."
Geometry = tuple[Sequence[tuple[int, int]], str]  # sizes that match, and the orientation


def nearby_calibrations(capture: DualPixelCapture) -> list[Path]:
    """Calibrations beside the files of a capture, and the published one if it was downloaded."""
    found = [path for folder in _folders(capture) for path in _inside(folder)]
    if _matches(capture, *_published()) and _is_published(cached := _published_cache()):
        found.append(cached)
    return list(dict.fromkeys(found))


def calibration_label(path: Path) -> str:
    """How a list names a calibration on disk."""
    if path.is_dir():
        is_cached = path == _published_cache()
        where = "downloaded" if is_cached else path.parent.name if _is_named(path) else path.name
        return f"Pixel 4, published ({where})"
    return path.name


def path_of_choice(path: Path) -> Path:
    """The calibration that a user means by a file: one of the published kernels is its folder."""
    return path.parent if path.suffix == ".npy" else path


def fitness(calibration: Calibration | Path | None, capture: DualPixelCapture) -> tuple[bool, str]:
    """Whether a calibration suits a capture, and a sentence about it."""
    if calibration is None:
        return True, ESTIMATED
    try:
        sizes, orientation = geometry(calibration)
    except CalibrationError as error:
        return False, str(error)
    height, width = _size(capture)
    if (height, width) not in sizes:
        (made_height, made_width), *_ = sizes
        return False, (
            f"Made for {made_width} x {made_height} px, but this capture has {width} x {height} "
            "px: choose another calibration, or estimate the lens."
        )
    if orientation != capture.orientation:
        return False, (
            f"Made for {orientation} captures, but this one is {capture.orientation}: choose "
            "another calibration, or estimate the lens."
        )
    return True, f"Matches this capture{_grade(calibration)}."


def match(calibration: Calibration | Path | None, capture: DualPixelCapture) -> int:
    """2: a calibration that matches; 1: a file that does; 0: of another camera, or none."""
    if calibration is None or not fitness(calibration, capture)[0]:
        return 0
    return 1 if isinstance(calibration, Path) else 2


def _grade(calibration: Calibration | Path) -> str:
    verdict = calibration.verdict if isinstance(calibration, Calibration) else None
    if not verdict or "grade" not in verdict:
        return ""
    return f"; verdict: {verdict['grade']}"


def geometry(calibration: Calibration | Path) -> Geometry:
    """Size of the frame and of the field, and the orientation; of a file by its header."""
    if isinstance(calibration, Calibration):
        field = calibration.field
        return (calibration.frame_shape, (field.height, field.width)), calibration.orientation
    if calibration.is_dir():
        if not _is_published(calibration):
            raise CalibrationError(
                f"{calibration.name} is not a calibration folder: {KERNEL_FILE} is missing."
            )
        return _published()
    header = read_header(calibration)
    return (header.frame_shape, (header.field[2], header.field[3])), header.orientation


def _published() -> Geometry:
    return (PUBLISHED_FRAME, PUBLISHED_FIELD[2:]), LANDSCAPE


def _matches(capture: DualPixelCapture, sizes: Sequence[tuple[int, int]], orientation: str) -> bool:
    return _size(capture) in sizes and capture.orientation == orientation


def _size(capture: DualPixelCapture) -> tuple[int, int]:
    """Height and width in square pixels."""
    height, width = capture.shape[-2:]
    return round(height * capture.pixel_aspect), width


def _folders(capture: DualPixelCapture) -> list[Path]:
    return list(dict.fromkeys(Path(file).parent for file in capture.source.files))


def _inside(folder: Path) -> Iterator[Path]:
    for base in (folder / CALIBRATION_FOLDER, folder):
        try:
            if (base / KERNEL_FILE).is_file():
                yield base
            yield from sorted(base.glob(f"*{CALIBRATION_SUFFIX}"))
        except OSError:  # a folder that nobody may read has nothing to offer
            continue


def _is_published(folder: Path) -> bool:
    return any((base / KERNEL_FILE).is_file() for base in (folder, folder / CALIBRATION_FOLDER))


def _is_named(path: Path) -> bool:
    return path.name == CALIBRATION_FOLDER and bool(path.parent.name)


def _published_cache() -> Path:
    from napari_dpdeblur.datasets.pixel4 import calibration_folder  # brings pooch

    return calibration_folder()
