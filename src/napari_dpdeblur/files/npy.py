"""Read `.npy` arrays safely: no pickle, and no allocation before the size is checked."""

from __future__ import annotations

import tokenize
import warnings
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from napari_dpdeblur.errors import DpDeblurError

MAX_ARRAY_BYTES = 512 * 1024**2
MAX_HEADER_BYTES = 10_000  # NumPy's own limit
_HEADER_ERRORS = (
    ValueError,
    EOFError,
    TypeError,
    SyntaxError,
    MemoryError,
    RecursionError,
    tokenize.TokenError,
    Warning,
)


def read_npy(
    stream: IO[bytes],
    size_bytes: int,
    where: str,
    error: type[DpDeblurError],
    max_bytes: int = MAX_ARRAY_BYTES,
) -> np.ndarray:
    """Read one floating-point array from a seekable stream of ``size_bytes`` bytes.

    ``where`` is the name of the array in messages, ``error`` the exception to raise.
    """
    shape, dtype = _read_header(stream, where, error)
    if dtype.hasobject:
        raise error(
            f"{where} contains Python objects, which could execute code; save it as a plain "
            "float32 array."
        )
    if not np.issubdtype(dtype, np.floating):
        raise error(f"{where} has dtype {dtype}; expected floating-point values.")
    wrong = _wrong_size(shape, dtype, size_bytes - stream.tell(), max_bytes)
    if wrong is not None:
        raise error(f"{where} {wrong}")
    stream.seek(0)
    return npy_format.read_array(stream, allow_pickle=False)


def _read_header(
    stream: IO[bytes], where: str, error: type[DpDeblurError]
) -> tuple[tuple[int, ...], np.dtype]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # about headers written by Python 2
            version = npy_format.read_magic(stream)
            _check_header_length(stream, version)
            if version == (1, 0):
                shape, _, dtype = npy_format.read_array_header_1_0(stream)
            else:
                shape, _, dtype = npy_format.read_array_header_2_0(stream)
    except _HEADER_ERRORS as reason:
        raise error(f"{where} is not a NumPy array file or is damaged; copy it again.") from (
            reason
        )
    return shape, dtype


def _check_header_length(stream: IO[bytes], version: tuple[int, int]) -> None:
    """Raise ValueError for an oversized header, which NumPy would allocate unchecked."""
    begin = stream.tell()
    length = int.from_bytes(stream.read(2 if version == (1, 0) else 4), "little")
    stream.seek(begin)
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length} bytes")


def _wrong_size(
    shape: tuple[int, ...], dtype: np.dtype, found_bytes: int, max_bytes: int
) -> str | None:
    """Problem with the size declared in the header; None if there is none."""
    expected_bytes = dtype.itemsize
    for length in shape:
        expected_bytes *= length
    if expected_bytes > max_bytes:
        return (
            f"declares {expected_bytes / 1024**2:.0f} MiB of data, more than the limit of "
            f"{max_bytes // 1024**2} MiB; the file is damaged."
        )
    if expected_bytes != found_bytes or min(shape, default=0) < 0:
        return (
            f"is damaged: an array of shape {shape} takes {expected_bytes} bytes, but "
            f"{found_bytes} follow its header; copy it again."
        )
    return None
