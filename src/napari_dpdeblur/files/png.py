"""Check PNG files before they reach libpng, which prints its complaints on standard error."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type
PALETTE = 3
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_MAX_SIDE_PX = 1_000_000  # the limit of libpng itself
_LAST_FILTER = 4
_BLOCK_BYTES = 1 << 20
_STORED_BYTES = 1 << 26  # pixels that may be in memory twice
# First column and row, and their steps, of the passes of an interlaced picture (Adam7).
_PASSES = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


def plain_png(data: bytes) -> bytes | None:
    """The same picture with nothing but pixels and palette; None if it is damaged.

    Checksums, the length of the pixels and their filters are checked, so that libpng has nothing
    to complain about. Everything else, such as profiles, text and animations, is left out. The
    pixels are no longer compressed, unless they would take much memory: the decoder is faster.
    """
    try:
        header, palette, pixels = _parts(data)
        rows = _whole(header, pixels)
    except (ValueError, struct.error, zlib.error):
        return None
    if rows is None:
        return None
    stored = pixels if len(rows) > _STORED_BYTES else zlib.compress(rows, 0)
    parts = [_chunk(b"IHDR", header), *_padded(header, palette), _chunk(b"IDAT", stored)]
    return b"".join([SIGNATURE, *parts, _chunk(b"IEND", b"")])


def _parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Header, palette and compressed pixels; ValueError if a part is missing or damaged."""
    chunks = list(_chunks(data))
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or b"acTL" in kinds:
        raise ValueError("not a still picture")
    header = chunks[0][1]
    palette = next((content for kind, content in chunks if kind == b"PLTE"), b"")
    if not _is_valid(header, palette):
        raise ValueError("an impossible header")
    return header, palette, b"".join(content for kind, content in chunks if kind == b"IDAT")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(SIGNATURE)
    while position + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        end = position + 8 + length
        content = data[position + 8 : end]
        if data[end : end + 4] != struct.pack(">I", zlib.crc32(kind + content)):
            raise ValueError("a wrong checksum, or a chunk longer than the file")
        yield kind, content
        if kind == b"IEND":
            return
        position = end + 4


def _is_valid(header: bytes, palette: bytes) -> bool:
    width, height, bits, colour, compression, filters, interlace = struct.unpack(">IIBBBBB", header)
    has_palette = 0 < len(palette) <= 3 << bits and len(palette) % 3 == 0
    return (
        0 < width <= _MAX_SIDE_PX
        and 0 < height <= _MAX_SIDE_PX
        and bits in _DEPTHS.get(colour, ())
        and (compression, filters) == (0, 0)
        and interlace in (0, 1)
        and (colour != PALETTE or has_palette)
    )


def _padded(header: bytes, palette: bytes) -> list[bytes]:
    """The palette with a colour for every value, so that none is out of range."""
    bits, colour = header[8], header[9]
    return [_chunk(b"PLTE", palette.ljust(3 << bits, b"\0"))] if colour == PALETTE else []


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return b"".join([struct.pack(">I", len(content)), kind, content, checksum])


def _whole(header: bytes, pixels: bytes) -> bytes | None:
    """The decompressed rows if they are as many as declared, each with a known filter, else None.

    More than :data:`_STORED_BYTES` are only counted, and not returned completely.
    """
    blocks, found, size = _Blocks(pixels), [], 0
    for row_bytes, rows in _layout(header):
        position, total = 0, row_bytes * rows
        while position < total:
            block = blocks.next(min(total - position, _BLOCK_BYTES))
            filters = block[-position % row_bytes :: row_bytes]
            if not block or max(filters, default=0) > _LAST_FILTER:
                return None
            position += len(block)
            if size <= _STORED_BYTES:
                found.append(block)
                size += len(block)
    return b"".join(found) if blocks.are_finished() else None


def _layout(header: bytes) -> Iterator[tuple[int, int]]:
    """Bytes of a row, with its filter, and number of rows of each pass."""
    width, height, bits, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    for left, top, step_x, step_y in _PASSES if interlace else ((0, 0, 1, 1),):
        cols, rows = -((left - width) // step_x), -((top - height) // step_y)
        if cols > 0 and rows > 0:
            yield 1 + (cols * CHANNELS[colour] * bits + 7) // 8, rows


class _Blocks:
    """Decompresses a stream block by block."""

    def __init__(self, data: bytes) -> None:
        self._stream = zlib.decompressobj()
        self._rest = data

    def next(self, max_bytes: int) -> bytes:
        block = self._stream.decompress(self._rest, max_bytes)
        self._rest = self._stream.unconsumed_tail
        return block

    def are_finished(self) -> bool:
        """Whether nothing follows but the checksum of the stream."""
        return not self.next(1) and self._stream.eof and not self._stream.unused_data
