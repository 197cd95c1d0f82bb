"""Tiles of TIFF pages, compressed with Deflate in several threads."""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

TILE_PX = 256
TIFF_STEP_PX = 16  # sides of tiles are multiples of it
LEVEL = 1  # higher ones take longer and save a few percent
LOOK_AHEAD = 4  # compressed tiles per thread that wait for being written

# Pixels (h, w, S) of the given rows and columns of a page; None if all of them are 0.
PixelsOf = Callable[[slice, slice], "npt.NDArray[np.generic] | None"]


@dataclass(frozen=True)
class TiledPage:
    """A page of height x width pixels with a number of samples each, as compressed tiles."""

    height: int
    width: int
    samples: int
    dtype: type[np.floating[Any]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width, and samples if there are several."""
        size = (self.height, self.width)
        return size if self.samples == 1 else (*size, self.samples)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        rows, cols = (
            min(-(-side // TIFF_STEP_PX) * TIFF_STEP_PX, TILE_PX)
            for side in (self.height, self.width)
        )
        return rows, cols

    def compressed(self, pixels_of: PixelsOf) -> Iterator[bytes]:
        """The tiles, row by row, each compressed; empty ones are compressed once."""
        empty = self._deflated(None)
        threads = os.cpu_count() or 1
        waiting: deque[Future[bytes]] = deque()

        def encoded(rows: slice, cols: slice) -> bytes:
            pixels = pixels_of(rows, cols)
            return empty if pixels is None else self._deflated(pixels)

        with ThreadPoolExecutor(threads) as pool:
            try:
                for place in self._places():
                    waiting.append(pool.submit(encoded, *place))
                    if len(waiting) > LOOK_AHEAD * threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _places(self) -> Iterator[tuple[slice, slice]]:
        rows, cols = self.tile
        for top in range(0, self.height, rows):
            for left in range(0, self.width, cols):
                bottom, right = min(top + rows, self.height), min(left + cols, self.width)
                yield slice(top, bottom), slice(left, right)

    def _deflated(self, pixels: npt.NDArray[np.generic] | None) -> bytes:
        """One tile; those at the right and lower edge are filled up with zeros."""
        if pixels is not None and pixels.shape[:2] == self.tile:
            return zlib.compress(np.ascontiguousarray(pixels, self.dtype).data, LEVEL)
        padded = np.zeros((*self.tile, self.samples), self.dtype)
        if pixels is not None:
            height, width = pixels.shape[:2]
            padded[:height, :width] = pixels.reshape(height, width, self.samples)
        return zlib.compress(padded.data, LEVEL)
