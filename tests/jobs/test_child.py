"""How a job ends, told by the child; run in this process, because a parent ends its child early."""

from __future__ import annotations

import io

import example_jobs
import pytest

from napari_dpdeblur.cancellation import Control
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.jobs import child
from napari_dpdeblur.jobs.channel import receive
from napari_dpdeblur.jobs.messages import Cancelled, Failed, Finished, Job, Note, Progress


def done(name: str, request: object = None, control: Control | None = None):
    """The end of a job, and what it sent before."""
    stream = io.BytesIO()
    job = Job(f"{example_jobs.__name__}:{name}", request, "The fit")
    end = child._done(job, control or Control(), stream)
    stream.seek(0)
    sent = []
    while stream.tell() < len(stream.getvalue()):
        sent.append(receive(stream))
    return end, sent


def test_a_job_that_finishes():
    end, sent = done("count", 2)
    assert isinstance(end, Finished)
    assert end.result.shape == (2, 100_000)
    assert [type(message) for message in sent] == [Progress, Progress, Note]


def test_a_cancelled_job():
    control = Control()
    control.cancel()
    assert done("step_for_ever", None, control) == (Cancelled(), [])


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CalibrationError("No discs."), "No discs."),
        (MemoryError(), "The fit ran out of memory; close other programs or process less data."),
        (KeyError("x\ny"), "The fit failed unexpectedly: 'x\\ny'"),
        (ValueError(), "The fit failed unexpectedly: ValueError"),
    ],
)
def test_a_job_that_fails(error, text):
    end, sent = done("fail", error)
    assert isinstance(end, Failed)
    assert end.text == text
    assert len(sent) == 1


def test_a_parent_that_is_gone_ends_the_job():
    class Closed(io.BytesIO):
        def write(self, data) -> int:
            raise BrokenPipeError

    with pytest.raises(child._NobodyListens):
        child._done(Job("example_jobs:count", 1, "The fit"), Control(), Closed())
