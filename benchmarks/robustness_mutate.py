"""Damage to files: blind, or with valid checksums, so that it reaches deeper."""

from __future__ import annotations

import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

NUMBERS = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63)
# Not finite, denormal, or at the limits of double and single precision.
FLOATS = (float("inf"), float("-inf"), float("nan"), 5e-324, 1e-310, 1e-45, 1.7e308, 3.5e38, -0.0)
WORDS = (
    *(str(number).encode() for number in FLOATS),
    b"Infinity",
    b"-Infinity",
    b"NaN",
    b".inf",
    b"-.inf",
    b"1e-999",
    b"0x1p-1074",
    b"nan",
    b"-inf",
    b"1e999",
    b"-1",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"true",
    b"!!python/object/apply:os.getcwd []",
    b"!!binary aGVsbG8=",
    b"&a [*a]",
    b"<<: {a: 1}",
    b"../../etc/passwd",
    b"9" * 5000,
    b"[" * 3000,
    b"{a: " * 300,
    b"- " * 500,
    b"\x00",
    b"\xff\xfe",
    b"2020-99-99",
)
PNG_START = b"\x89PNG\r\n\x1a\n"
ZIP_START = b"PK\x03\x04"


def damaged(content: bytes, other: bytes, seed: str) -> bytes:
    """A damaged copy; the same seed gives the same damage. ``other`` is a file to borrow from."""
    choose = random.Random(seed)
    if choose.random() < 0.03:
        return choose.randbytes(choose.choice((0, 1, 7, 64, 1024)))
    if content.startswith(ZIP_START) and choose.random() < 0.6:
        return _inside_zip(content, other, choose)
    if content.startswith(PNG_START) and choose.random() < 0.6:
        return _inside_png(content, other, choose)
    return _blind(content, other, choose)


def _blind(content: bytes, other: bytes, choose: random.Random) -> bytes:
    for _ in range(choose.choice((1, 1, 1, 2, 3, 8))):
        content = choose.choice(CHANGES)(content, other, choose)
    return content


def _flip(content: bytes, other: bytes, choose: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 16)) if changed else 0):
        changed[choose.randrange(len(changed))] ^= 1 << choose.randrange(8)
    return bytes(changed)


def _number(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Put an extreme number of 1 to 8 bytes near the beginning or anywhere."""
    form = choose.choice(("B", "<H", ">H", "<I", ">I", "<Q", ">Q"))
    limit = 256 ** struct.calcsize(form)
    word = struct.pack(form, choose.choice(NUMBERS) % limit)
    place = choose.randrange(min(len(content), choose.choice((64, 512, 10**9))) + 1)
    return content[:place] + word + content[place + len(word) :]


def _float(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Put an infinite, denormal or huge number of 4 or 8 bytes anywhere."""
    form = choose.choice(("<f", ">f", "<d", ">d"))
    number = choose.choice(FLOATS)
    if form.endswith("f") and abs(number) > 3.4e38:
        number = float("inf")
    word = struct.pack(form, number)
    place = choose.randrange(len(content) + 1) // len(word) * len(word)
    return content[:place] + word + content[place + len(word) :]


def _json_number(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Replace a whole number of a text by an extreme one, so that the text can still be parsed."""
    found = list(re.finditer(rb"(?<=[\s\[:,])-?\d+(\.\d+)?(e-?\d+)?(?=[\s\],}])", content[:20_000]))
    if not found:
        return _float(content, other, choose)
    place = choose.choice(found)
    word = choose.choice((b"1e999", b"-1e999", b"5e-324", b"1e-310", b"1e308", b"-0.0", b"0"))
    return content[: place.start()] + word + content[place.end() :]


def _cut(content: bytes, other: bytes, choose: random.Random) -> bytes:
    return content[: choose.randrange(len(content) + 1)]


def _remove(content: bytes, other: bytes, choose: random.Random) -> bytes:
    start = choose.randrange(len(content) + 1)
    return content[:start] + content[start + choose.choice((1, 2, 4, 30, 400)) :]


def _repeat(content: bytes, other: bytes, choose: random.Random) -> bytes:
    start = choose.randrange(len(content) + 1)
    part = content[start : start + choose.choice((1, 4, 12, 100))]
    return content[:start] + part * choose.choice((2, 3, 50)) + content[start:]


def _borrow(content: bytes, other: bytes, choose: random.Random) -> bytes:
    start, source = choose.randrange(len(content) + 1), choose.randrange(len(other) + 1)
    part = other[source : source + choose.choice((4, 32, 500))]
    return content[:start] + part + content[start + choose.choice((0, len(part))) :]


def _word(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Put something in the place of a number or after a colon, as in JSON, YAML or PGM."""
    places = [i for i, byte in enumerate(content[:4000]) if byte in b"0123456789:"]
    start = choose.choice(places) if places else 0
    return content[:start] + choose.choice(WORDS) + content[start + choose.choice((0, 1, 3)) :]


CHANGES: tuple[Callable[[bytes, bytes, random.Random], bytes], ...] = (
    _flip,
    _number,
    _float,
    _json_number,
    _cut,
    _remove,
    _repeat,
    _borrow,
    _word,
)


def _inside_zip(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Damage one member and pack again, with checksums that fit."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = choose.choice(list(members))
    members[name] = _blind(members[name], other, choose)
    if choose.random() < 0.1:
        del members[choose.choice(list(members))]
    if choose.random() < 0.1:
        members["../../tensor_diagnostic_x.npy"] = members.get("kernels.npy", b"")
    packed = io.BytesIO()
    method = choose.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return packed.getvalue()


def _inside_png(content: bytes, other: bytes, choose: random.Random) -> bytes:
    """Damage one chunk, with a checksum that fits."""
    chunks = list(_png_chunks(content))
    index = choose.randrange(len(chunks))
    kind, data = chunks[index]
    whole = sum(kind == b"IDAT" for kind, _ in chunks) == 1
    if kind == b"IDAT" and whole and choose.random() < 0.5:
        data = zlib.compress(_blind(zlib.decompress(data), other, choose))
    else:
        data = _blind(data, other, choose)
    chunks[index] = (choose.choice((kind, kind, kind, b"acTL", b"iCCP", b"zTXt")), data)
    return PNG_START + b"".join(_png_chunk(*chunk) for chunk in chunks)


def _png_chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, place = [], len(PNG_START)
    while place + 12 <= len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        found.append((content[place + 4 : place + 8], content[place + 8 : place + 8 + length]))
        place += 12 + length
    return found


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
