"""The `.dpcal` file format: a zip archive of `header.json` and one `.npy` file per array.

NumPy can read it as an `.npz`. Nothing is pickled, and equal content gives equal bytes.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Limits

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files import atomic_file, open_regular
from napari_dpdeblur.files.archive import DAMAGED, check_members, read_array, write_compressed
from napari_dpdeblur.files.plain import parse_json
from napari_dpdeblur.files.schema import first_problem

FORMAT: Final = "napari-dpdeblur calibration"
# Version 2 adds the kernels in front of the focus plane. Without them a file is of version 1, which
# older programs read; they refuse version 2 instead of ignoring the front.
ONE_SIDE: Final = 1
BOTH_SIDES: Final = 2
SUFFIX = ".dpcal"
HEADER_NAME = "header.json"
MAX_HEADER_BYTES = 1024**2
DIAGNOSTIC = "diagnostic_"  # optional arrays, ignored by older readers
FRONT_KERNELS = "front_kernels"
ARRAY_NAMES = ("kernels", "vignetting", FRONT_KERNELS)
MAX_CONSTANT = 1e9  # of the lens constants, which run.yaml holds, too
_Constant = Annotated[float, Limits(ge=-MAX_CONSTANT, le=MAX_CONSTANT)]
_DIAGNOSTIC_NAME = re.compile(rf"{DIAGNOSTIC}\w+")


class Header(BaseModel):
    """All entries of a calibration except its arrays."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    format: Literal["napari-dpdeblur calibration"] = FORMAT
    version: Literal[1, 2] = ONE_SIDE
    rows: int
    cols: int
    field: tuple[int, int, int, int]
    frame_shape: tuple[int, int]
    orientation: str
    camera: str
    focus_distance_m: float | None = None
    captured_on: str | None = None
    verdict: dict[str, Any] | None = None
    lens_constants: tuple[_Constant, _Constant] | None = None
    source: dict[str, Any] = {}
    excess_variance_px2: tuple[float, float] = (0.0, 0.0)
    front_scale: float | None = None


def read_dpcal(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """Read header and arrays of a `.dpcal` file."""
    with _archive(path) as archive:
        header = _read_header(archive, path)
        names = _array_names(archive)
        _check_front(header, names, path)
        return header, {
            name: read_array(archive, name, f"{path}, array {name!r},", CalibrationError)
            for name in names
        }


def read_header(path: Path) -> Header:
    """Read only the header of a `.dpcal` file."""
    with _archive(path) as archive:
        return _read_header(archive, path)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, with its errors as CalibrationError."""
    try:
        with open_regular(path) as (file, _), zipfile.ZipFile(file) as archive:
            check_members(archive)
            yield archive
    except DAMAGED as error:
        raise CalibrationError(
            f"{path} is not a calibration file or is truncated; copy it again."
        ) from error
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read: {error.strerror or error}.") from error


def _array_names(archive: zipfile.ZipFile) -> list[str]:
    """Known arrays, and diagnostic arrays with safe names."""
    names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    return [name for name in names if name in ARRAY_NAMES or _DIAGNOSTIC_NAME.fullmatch(name)]


def _read_header(archive: zipfile.ZipFile, path: Path) -> Header:
    if HEADER_NAME not in archive.namelist():
        raise CalibrationError(f"{path} is not a calibration file: it has no {HEADER_NAME}.")
    if archive.getinfo(HEADER_NAME).file_size > MAX_HEADER_BYTES:
        raise CalibrationError(f"{path} is damaged: its {HEADER_NAME} is larger than 1 MiB.")
    try:
        content = parse_json(archive.read(HEADER_NAME))
    except ValueError as error:
        raise CalibrationError(f"{path} has a damaged {HEADER_NAME}; copy it again.") from error
    _check_version(content, path)
    try:
        return Header.model_validate(content)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise CalibrationError(
            f"{path} has an invalid entry {where!r} in its {HEADER_NAME}: {problem}."
        ) from error


def _check_version(content: Any, path: Path) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CalibrationError(f"{path} is not a napari-dpdeblur calibration file.")
    if content.get("version") not in (ONE_SIDE, BOTH_SIDES):
        raise CalibrationError(
            f"{path} has format version {content.get('version')}, but only versions {ONE_SIDE} and "
            f"{BOTH_SIDES} are supported; update napari-dpdeblur."
        )


def _check_front(header: Header, names: Sequence[str], path: Path) -> None:
    """Version, defocus scale and kernels of the front must come together."""
    signs = {header.version == BOTH_SIDES, header.front_scale is not None, FRONT_KERNELS in names}
    if len(signs) > 1:
        raise CalibrationError(
            f"{path} is damaged: of its kernels in front of the focus plane, only a part is there; "
            "copy it again."
        )


def write_dpcal(path: Path, header: Header, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a `.dpcal` file atomically."""
    stored = {name: np.ascontiguousarray(array, "<f4") for name, array in arrays.items()}
    # left out if they say nothing, so that older versions can read the file
    left_out = set() if any(header.excess_variance_px2) else {"excess_variance_px2"}
    left_out |= {"front_scale"} if header.front_scale is None else set()
    content = header.model_dump_json(indent=2, exclude=left_out).encode()
    try:
        with atomic_file(path) as beside, beside.open("wb") as file:
            write_compressed(file, HEADER_NAME, content, stored)
    except OSError as error:
        raise CalibrationError(f"{path} cannot be written: {error.strerror or error}.") from error
