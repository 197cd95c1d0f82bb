"""Reading of untrusted files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from napari_dpdeblur.files.reading import read_regular


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    """Several files are read at the same time, each with a limit of hundreds of megabytes."""
    path = tmp_path / "small"
    path.write_bytes(b"content")
    tracemalloc.start()
    try:
        assert read_regular(path, 400_000_000) == b"content"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"content")
    with pytest.raises(OSError, match="it is larger than"):
        read_regular(tmp_path / "large", 6)
