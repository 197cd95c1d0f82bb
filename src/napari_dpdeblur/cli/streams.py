"""Standard streams that may be closed, full or unable to show every character."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

from napari_dpdeblur.errors import ResultError

_STDOUT, _STDERR = 1, 2


def prepare_streams() -> None:
    """Make standard output and standard error safe to print to.

    Closed ones lead nowhere, characters that they cannot show are escaped, an error of standard
    output is a sentence, and notes on standard error are lost rather than a computation.
    """
    for descriptor in (0, _STDOUT, _STDERR):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: otherwise the next file that is opened would get this number
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(_STDOUT), sys.__stdout__)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Notes(_STDERR), sys.__stderr__)


def _text(raw: _Stream, like: TextIO | None) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(like, "encoding", None),
        errors="backslashreplace",
        line_buffering=raw.isatty() or isinstance(raw, _Notes),
    )


class _Stream(io.RawIOBase):
    """Writes to a descriptor that stays open."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)


class _Notes(_Stream):
    """Loses what cannot be written."""

    def write(self, data: Any) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError:
            return len(data)


class _Output(_Stream):
    """Fails once with a sentence; a closed pipe, as in `... | head`, is left to the caller."""

    _has_failed = False

    def write(self, data: Any) -> int:
        if self._has_failed:
            return len(data)
        try:
            return os.write(self._descriptor, data)
        except BrokenPipeError:
            self._has_failed = True
            raise
        except OSError as error:
            self._has_failed = True
            raise ResultError(
                f"The output cannot be printed: {error.strerror or error}; files that the command "
                "writes are complete."
            ) from error
