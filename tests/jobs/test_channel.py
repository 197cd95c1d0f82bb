"""Framing of messages."""

from __future__ import annotations

import io

import numpy as np
import pytest

from napari_dpdeblur.jobs.channel import receive, send


def test_messages_survive_one_after_the_other():
    stream = io.BytesIO()
    array = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    send(stream, {"name": "a", "array": array, "empty": np.zeros((0, 3))})
    send(stream, "second")
    stream.seek(0)
    first = receive(stream)
    np.testing.assert_array_equal(first["array"], array)
    assert first["empty"].shape == (0, 3)
    assert receive(stream) == "second"


def test_the_end_of_the_stream_is_an_eof():
    stream = io.BytesIO()
    send(stream, np.zeros(1000))
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:-1]))
    with pytest.raises(EOFError):
        receive(io.BytesIO())
