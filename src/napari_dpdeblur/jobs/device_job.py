"""Which devices work here, as a job: asking loads torch, which takes seconds."""

from __future__ import annotations

from collections.abc import Generator

from napari_dpdeblur.jobs.messages import Message

FUNCTION = f"{__name__}:run"


def run(request: None) -> Generator[Message, None, dict[str, str]]:
    """Names for settings, with names for people."""
    from napari_dpdeblur.fitting.device import available_devices

    yield from ()
    import torch

    count = torch.get_num_threads()
    threads = f"{count} thread{'s' if count > 1 else ''}"
    return {**available_devices(), "cpu": f"CPU, {threads}"}
