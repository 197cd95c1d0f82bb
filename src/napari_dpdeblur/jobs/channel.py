"""Messages between a program and its child process over a pair of pipes.

The pipes are private, so pickle is safe. Arrays are sent as raw bytes beside the pickle and are not
copied again on arrival.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

import numpy as np

_HEAD = struct.Struct("<QQ")  # length of the pickle, number of arrays
_SIZE = struct.Struct("<Q")


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message; OSError if the other end is closed."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    stream.write(_HEAD.pack(len(head), len(views)))
    stream.write(head)
    for view in views:
        stream.write(_SIZE.pack(view.nbytes))
        stream.write(view)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; EOFError if the other end is closed."""
    length, count = _HEAD.unpack(_read(stream, _HEAD.size))
    head = _read(stream, length)
    arrays = [_read(stream, _SIZE.unpack(_read(stream, _SIZE.size))[0]) for _ in range(count)]
    return pickle.loads(head, buffers=arrays)


def _read(stream: BinaryIO, size: int) -> memoryview:
    """Read exactly ``size`` bytes into uninitialised memory."""
    content = np.empty(size, np.uint8).data.cast("B")
    done = 0
    while done < size:
        count = stream.readinto(content[done:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        done += count
    return content
