"""List the available devices, as a job because it loads torch."""

from __future__ import annotations

from collections.abc import Generator

from napari_dpdeblur.jobs.messages import Message

FUNCTION = f"{__name__}:run"


def run(request: None) -> Generator[Message, None, dict[str, str]]:
    """Devices by name in the settings, with labels."""
    from napari_dpdeblur.fitting.device import available_devices

    yield from ()
    import torch

    count = torch.get_num_threads()
    threads = f"{count} thread{'s' if count > 1 else ''}"
    return {**available_devices(), "cpu": f"CPU, {threads}"}
