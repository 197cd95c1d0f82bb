"""Read the Pixel 4 calibration folder published by Xin et al. (ICCV 2021).

It contains arrays only; the geometry below is the one that the authors describe.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_dpdeblur.capture.image_file import read_pixels
from napari_dpdeblur.capture.pixel import PUBLISHED_BLACK, PUBLISHED_WHITE
from napari_dpdeblur.errors import CalibrationError, CaptureError
from napari_dpdeblur.files import check_inside, digest, open_regular
from napari_dpdeblur.files.npy import read_npy

PUBLISHED_ROWS = 6
PUBLISHED_COLS = 8
PUBLISHED_FRAME = (1512, 2016)
PUBLISHED_FIELD = (252, 336, 1008, 1344)  # top, left, height, width
VIEWS = ("left", "right")


@dataclass(frozen=True)
class PublishedFolder:
    """Kernels (P, 2, K, K), white captures (2, H, W) in units of white, SHA-256 by file name."""

    kernels: np.ndarray
    vignetting: np.ndarray
    sha256: dict[str, str]


def read_published_folder(folder: Path) -> PublishedFolder:
    """Read `blur_kernels_{left,right}.npy` and `white_sheet_{left,right}.png`.

    ``folder`` contains these files, or is the parent folder with the scenes.
    """
    if (folder / "calibration").is_dir():
        folder = folder / "calibration"
    kernel_paths = [_existing(folder / f"blur_kernels_{view}.npy") for view in VIEWS]
    white_paths = [_existing(folder / f"white_sheet_{view}.png") for view in VIEWS]
    kernels = [_read_kernels(path) for path in kernel_paths]
    if kernels[0].shape != kernels[1].shape:
        raise CalibrationError(
            f"{kernel_paths[0]} and {kernel_paths[1]} have different shapes, {kernels[0].shape} "
            f"and {kernels[1].shape}; both must come from the same calibration."
        )
    sums = {path.name: _digest(path) for path in kernel_paths + white_paths}
    with ThreadPoolExecutor(len(white_paths)) as pool:
        white = np.stack(list(pool.map(_read_white, white_paths)))
    return PublishedFolder(np.stack(kernels, axis=1), white, sums)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise CalibrationError(
            f"{path.parent} is not a calibration folder: {path.name} is missing; expected "
            "blur_kernels_left.npy, blur_kernels_right.npy, white_sheet_left.png and "
            "white_sheet_right.png."
        )
    try:
        check_inside(path, path.parent)
    except OSError as error:
        raise CalibrationError(f"{path} was not read: {error.strerror}.") from error
    return path


def _digest(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_kernels(path: Path) -> np.ndarray:
    """(P, K, K) kernels of one view."""
    try:
        with open_regular(path) as (stream, size_bytes):
            kernels = read_npy(stream, size_bytes, str(path), CalibrationError)
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read: {error.strerror or error}.") from error
    if kernels.ndim != 3:
        raise CalibrationError(f"{path} has shape {kernels.shape}; expected (tiles, K, K).")
    return kernels


def _read_white(path: Path) -> np.ndarray:
    """(H, W) float32, black subtracted, in units of white."""
    try:
        pixels = read_pixels(path)
    except CaptureError as error:
        raise CalibrationError(str(error)) from error
    if pixels.dtype != np.uint16 or pixels.shape != (1, *PUBLISHED_FRAME):
        rows, cols = PUBLISHED_FRAME
        raise CalibrationError(
            f"{path} has {pixels.shape[1]} x {pixels.shape[2]} px and {pixels.shape[0]} channels "
            f"of {pixels.dtype}; expected {rows} x {cols} px, 16-bit greyscale."
        )
    return np.asarray((pixels[0] - PUBLISHED_BLACK) / PUBLISHED_WHITE, np.float32)
