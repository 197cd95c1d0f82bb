"""Zip archives of a JSON header and arrays: `.dpcal` files and checkpoints.

NumPy can read them as `.npz`. Nothing is pickled, nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.files.npy import MAX_ARRAY_BYTES, read_npy

# Exceptions that zipfile is known to raise on damaged archives.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    struct.error,
)
MAX_MEMBERS = 1000
MAX_TOTAL_BYTES = 768 * 1024**2
# Deflate cannot compress by more than about 1032: a higher ratio is a wrong size.
MAX_RATIO = 1100
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)


def check_members(archive: zipfile.ZipFile) -> None:
    """Refuse unexpected sizes and compression methods before anything is allocated."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or sum(m.file_size for m in members) > MAX_TOTAL_BYTES:
        raise ValueError("it is too large")
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it uses an unknown compression")
        if member.file_size > MAX_RATIO * (member.compress_size + 1):
            raise ValueError("it declares more data than it contains")


def check_stored_members(archive: zipfile.ZipFile, size_bytes: int) -> None:
    """Refuse compression, and members larger in total than the file of ``size_bytes``."""
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("it is compressed")
    if len(members) > MAX_MEMBERS or sum(m.file_size for m in members) > size_bytes:
        raise ValueError("it declares more data than it contains")


def read_array(
    archive: zipfile.ZipFile,
    name: str,
    where: str,
    error: type[DpDeblurError],
    max_bytes: int = MAX_ARRAY_BYTES,
) -> np.ndarray:
    """Read the floating-point array ``name``; ``where`` and ``error`` as in :func:`read_npy`."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as stream:
        return read_npy(stream, info.file_size, where, error, max_bytes)


def write_compressed(
    file: IO[bytes], header_name: str, header: bytes, arrays: Mapping[str, np.ndarray]
) -> None:
    """Write header and arrays compressed; equal content gives equal bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        _add_compressed(archive, header_name, header)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            _add_compressed(archive, f"{name}.npy", buffer.getvalue())


def write_stored(
    file: IO[bytes], header_name: str, header: bytes, arrays: Mapping[str, np.ndarray]
) -> None:
    """Write header and arrays uncompressed: fast, and without a copy in memory."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(header_name), header)
        for name, array in arrays.items():
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as stream:
                npy_format.write_array(stream, array, allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _FIXED_DATE)
    info.external_attr = 0o644 << 16
    return info


def _add_compressed(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_member(name), content, zipfile.ZIP_DEFLATED, compresslevel=3)
