"""The `.dpcal` file: a zip with `header.json` and one `.npy` per array.

NumPy reads it as an `.npz`. Nothing in it is pickled, and the same content gives the same bytes.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from napari_dpdeblur.calibration.npy import read_npy
from napari_dpdeblur.errors import CalibrationError

FORMAT: Final = "napari-dpdeblur calibration"
VERSION: Final = 1
SUFFIX = ".dpcal"
HEADER_NAME = "header.json"
MAX_HEADER_BYTES = 1024**2
DIAGNOSTIC = "diagnostic_"  # optional arrays, which older readers pass over
ARRAY_NAMES = ("kernels", "vignetting")
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)


class Header(BaseModel):
    """Everything in a calibration that is not an array."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["napari-dpdeblur calibration"] = FORMAT
    version: Literal[1] = VERSION
    rows: int
    cols: int
    field: tuple[int, int, int, int]
    frame_shape: tuple[int, int]
    orientation: str
    camera: str
    focus_distance_m: float | None = None
    captured_on: str | None = None
    verdict: dict[str, Any] | None = None
    lens_constants: tuple[float, float] | None = None
    source: dict[str, Any] = {}


def read_dpcal(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays of a `.dpcal` file."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = _read_header(archive, path)
            files = [name for name in archive.namelist() if name.endswith(".npy")]
            names = [name.removesuffix(".npy") for name in files]
            names = [n for n in names if n in ARRAY_NAMES or n.startswith(DIAGNOSTIC)]
            return header, {name: _read_array(archive, name, path) for name in names}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise CalibrationError(
            f"{path} is not a calibration file, or it is truncated; copy it again."
        ) from error
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_header(archive: zipfile.ZipFile, path: Path) -> Header:
    if HEADER_NAME not in archive.namelist():
        raise CalibrationError(f"{path} is not a calibration file: it has no {HEADER_NAME}.")
    if archive.getinfo(HEADER_NAME).file_size > MAX_HEADER_BYTES:
        raise CalibrationError(f"{path} has a {HEADER_NAME} of over 1 MiB; the file is damaged.")
    try:
        content = json.loads(archive.read(HEADER_NAME))
    except ValueError as error:
        raise CalibrationError(f"{path} has a damaged {HEADER_NAME}; copy it again.") from error
    _check_version(content, path)
    try:
        return Header.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CalibrationError(
            f"{path} has a wrong entry {where!r} in its {HEADER_NAME}: {first['msg']}."
        ) from error


def _check_version(content: Any, path: Path) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CalibrationError(f"{path} is not a calibration file of napari-dpdeblur.")
    if content.get("version") != VERSION:
        raise CalibrationError(
            f"{path} is a calibration file of version {content.get('version')}, but this program "
            f"reads version {VERSION}; update napari-dpdeblur."
        )


def _read_array(archive: zipfile.ZipFile, name: str, path: Path) -> np.ndarray:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        return read_npy(stream, info.file_size, f"{path}, array {name!r},")


def write_dpcal(path: Path, header: Header, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a `.dpcal` file so that a crash leaves either the old file or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        try:
            with beside.open("wb") as file:
                _write_archive(file, header, arrays)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CalibrationError(f"{path} cannot be written: {error.strerror or error}.") from error


def _write_archive(file: IO[bytes], header: Header, arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        _add(archive, HEADER_NAME, header.model_dump_json(indent=2).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(array, "<f4"), allow_pickle=False)
            _add(archive, f"{name}.npy", buffer.getvalue())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _FIXED_DATE)
    info.external_attr = 0o644 << 16
    archive.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=3)
