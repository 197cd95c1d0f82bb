"""Compute devices."""

from __future__ import annotations

import gc

import torch

from napari_dpdeblur.errors import SettingsError


def available_devices() -> dict[str, str]:
    """Available devices: their names in the settings, and names to display."""
    devices = {"cpu": "CPU"}
    if torch.cuda.is_available():
        devices["cuda"] = torch.cuda.get_device_name()
    if torch.backends.mps.is_available():
        devices["mps"] = "Apple GPU"
    return devices


def resolve_device(name: str) -> torch.device:
    """The device that a setting asks for; auto prefers an accelerator."""
    devices = available_devices()
    if name == "auto":
        name = next((d for d in ("cuda", "mps") if d in devices), "cpu")
    if name not in devices:
        raise SettingsError(
            f"The device {name} is not available; choose one of {', '.join(devices)} or auto."
        )
    return torch.device(name)


def release_memory(device: torch.device) -> None:
    """Release cached memory of an accelerator."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
