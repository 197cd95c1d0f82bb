"""Read and write calibrations: `.dpcal` files and the published folder."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

from napari_dpdeblur.calibration.file_format import (
    BOTH_SIDES,
    DIAGNOSTIC,
    FRONT_KERNELS,
    ONE_SIDE,
    Header,
    read_dpcal,
    write_dpcal,
)
from napari_dpdeblur.calibration.published_folder import (
    PUBLISHED_COLS,
    PUBLISHED_FIELD,
    PUBLISHED_FRAME,
    PUBLISHED_ROWS,
    read_published_folder,
)
from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.errors import CalibrationError, shortened
from napari_dpdeblur.files.reading import accessing

# How much wider (y, x) the published kernels are than the blur of the lens. Ringing at strong
# edges is weakest with this value; benchmarks/excess.py measures about half of it, see docs.
PUBLISHED_EXCESS_PX2 = (4.0, 1.5)


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Write a `.dpcal` file atomically."""
    front = calibration.front_kernels
    header = Header(
        version=ONE_SIDE if front is None else BOTH_SIDES,
        rows=calibration.rows,
        cols=calibration.cols,
        field=astuple(calibration.field),
        frame_shape=calibration.frame_shape,
        orientation=calibration.orientation,
        camera=calibration.camera,
        focus_distance_m=calibration.focus_distance_m,
        captured_on=calibration.captured_on,
        verdict=calibration.verdict,
        lens_constants=calibration.lens_constants,
        excess_variance_px2=calibration.excess_variance_px2,
        source=calibration.source,
        front_scale=None if front is None else calibration.front_scale,
    )
    arrays = {"kernels": calibration.kernels}
    if calibration.vignetting is not None:
        arrays["vignetting"] = calibration.vignetting
    if front is not None:
        arrays[FRONT_KERNELS] = front
    arrays |= {f"{DIAGNOSTIC}{name}": array for name, array in calibration.diagnostics.items()}
    write_dpcal(Path(path), header, arrays)


def load_calibration(path: str | Path) -> Calibration:
    """Read a `.dpcal` file or a folder in the published layout."""
    path = Path(path)
    try:
        with accessing(path, CalibrationError):
            if not path.exists():
                raise CalibrationError(f"The calibration {path} does not exist.")
            return _from_folder(path) if path.is_dir() else _from_file(path)
    except CalibrationError as error:
        if shortened(path) in str(error):
            raise
        raise CalibrationError(f"{path}: {error}") from error


def _from_file(path: Path) -> Calibration:
    header, arrays = read_dpcal(path)
    if "kernels" not in arrays:
        raise CalibrationError(f"{path} contains no blur kernels; the file is damaged.")
    values = header.model_dump(exclude={"format", "version", "field"}, exclude_none=True)
    return Calibration(
        field=Field(*header.field),
        kernels=arrays["kernels"],
        vignetting=arrays.get("vignetting"),
        front_kernels=arrays.get(FRONT_KERNELS),
        diagnostics={
            name.removeprefix(DIAGNOSTIC): array
            for name, array in arrays.items()
            if name.startswith(DIAGNOSTIC)
        },
        **values,
    )


def _from_folder(folder: Path) -> Calibration:
    published = read_published_folder(folder)
    return Calibration(
        kernels=published.kernels,
        rows=PUBLISHED_ROWS,
        cols=PUBLISHED_COLS,
        field=Field(*PUBLISHED_FIELD),
        frame_shape=PUBLISHED_FRAME,
        vignetting=published.vignetting,
        camera="Google Pixel 4",
        focus_distance_m=0.137,
        source={"format": "published folder", "sha256": published.sha256},
        excess_variance_px2=PUBLISHED_EXCESS_PX2,
    )
