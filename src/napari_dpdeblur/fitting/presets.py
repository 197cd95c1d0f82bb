"""Names of the presets, apart from the settings so that a command line starts without pydantic."""

from __future__ import annotations

from typing import Literal

Preset = Literal["standard", "preview", "paper"]
PRESETS: tuple[Preset, ...] = ("standard", "preview", "paper")
