"""Compressed tiles of TIFF pages."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from napari_dpdeblur.files.tiff_tiles import TiledPage


def test_tiles_are_complete_and_in_order() -> None:
    values = np.arange(300 * 520, dtype=np.float32).reshape(300, 520)
    page = TiledPage(300, 520, 1, np.float32)
    tiles = [zlib.decompress(tile) for tile in page.compressed(lambda r, c: values[r, c])]
    assert len(tiles) == 2 * 3
    last = np.frombuffer(tiles[-1], np.float32).reshape(page.tile)
    np.testing.assert_array_equal(last[: 300 - 256, : 520 - 512], values[256:, 512:])
    assert not last[300 - 256 :].any()


def test_tiles_of_a_small_page_are_small() -> None:
    assert TiledPage(20, 30, 4, np.float16).tile == (32, 32)


def test_an_error_in_a_thread_is_raised() -> None:
    def broken(rows: slice, cols: slice) -> np.ndarray:
        raise OSError("the layer is gone")

    with pytest.raises(OSError, match="the layer is gone"):
        list(TiledPage(20, 30, 1, np.float32).compressed(broken))
