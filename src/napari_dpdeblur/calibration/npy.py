"""Arrays in NumPy's own format, read with care: no pickle, and no allocation before a check."""

from __future__ import annotations

from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from napari_dpdeblur.errors import CalibrationError

MAX_ARRAY_BYTES = 2 * 1024**3


def read_npy(stream: IO[bytes], size_bytes: int, where: str) -> np.ndarray:
    """One floating-point array from a seekable stream that holds ``size_bytes`` bytes.

    ``where`` names the array in error messages.
    """
    shape, dtype = _read_header(stream, where)
    if dtype.hasobject:
        raise CalibrationError(
            f"{where} holds Python objects, which could run code when opened; save it as a plain "
            "float32 array."
        )
    if not np.issubdtype(dtype, np.floating):
        raise CalibrationError(f"{where} holds {dtype}, but floating-point numbers are expected.")
    _check_size(shape, dtype, size_bytes - stream.tell(), where)
    stream.seek(0)
    return npy_format.read_array(stream, allow_pickle=False)


def _read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], np.dtype]:
    try:
        version = npy_format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = npy_format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = npy_format.read_array_header_2_0(stream)
    except (ValueError, EOFError) as error:
        raise CalibrationError(
            f"{where} is not a NumPy array file, or it is damaged; copy it again."
        ) from error
    return shape, dtype


def _check_size(shape: tuple[int, ...], dtype: np.dtype, found_bytes: int, where: str) -> None:
    expected_bytes = dtype.itemsize
    for length in shape:
        expected_bytes *= length
    if expected_bytes > MAX_ARRAY_BYTES:
        raise CalibrationError(
            f"{where} claims {expected_bytes / 1024**3:.0f} GiB of numbers, more than the "
            f"{MAX_ARRAY_BYTES // 1024**3} GiB that are accepted; the file is damaged."
        )
    if expected_bytes != found_bytes:
        raise CalibrationError(
            f"{where} is damaged: an array of shape {shape} takes {expected_bytes} bytes, but "
            f"{found_bytes} follow its header; copy it again."
        )
