"""Arrays are checked before anything is allocated for them."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest
from numpy.lib import format as npy_format

from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files.npy import read_npy

MEGABYTE = 1024**2


def read(path):
    with path.open("rb") as stream:
        return read_npy(stream, path.stat().st_size, "The array", CalibrationError)


def test_an_array_comes_back(tmp_path):
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "a.npy", numbers)
    np.testing.assert_array_equal(read(tmp_path / "a.npy"), numbers)


@pytest.mark.parametrize("version", [(0, 0), (2, 0), (3, 0), (9, 9)])
def test_a_header_that_claims_gigabytes_is_refused_unread(tmp_path, version):
    path = tmp_path / "a.npy"
    header = b"\x93NUMPY" + bytes(version) + struct.pack("<I", 0x7FFFFFFF)
    path.write_bytes(header + b"{'descr': '<f4'}".ljust(4096))
    tracemalloc.start()
    try:
        with pytest.raises(CalibrationError, match="is not a NumPy array file or is damaged"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()


def test_an_array_that_claims_terabytes_is_refused_unread(tmp_path):
    path = tmp_path / "a.npy"
    with path.open("wb") as stream:
        claim = {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)}
        npy_format.write_array_header_1_0(stream, claim)
        stream.write(bytes(400))
    with pytest.raises(CalibrationError, match="declares 3814697 MiB of data"):
        read(path)
