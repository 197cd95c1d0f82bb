"""Which devices work here, as a job: asking loads torch, which takes seconds."""

from __future__ import annotations

import platform
from collections.abc import Generator

from napari_dpdeblur.fit.control import FitControl
from napari_dpdeblur.jobs.messages import Message

FUNCTION = f"{__name__}:run"


def run(request: None, control: FitControl) -> Generator[Message, None, dict[str, str]]:
    """Names for settings, with names for people."""
    from napari_dpdeblur.fit.device import available_devices

    yield from ()
    devices = available_devices()
    return {**devices, "cpu": _processor_name()}


def _processor_name() -> str:
    import torch

    threads = torch.get_num_threads()
    name = platform.processor() or platform.machine()
    return f"CPU ({name}, {threads} threads)"
