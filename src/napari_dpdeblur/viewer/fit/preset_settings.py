"""Which settings a preset uses."""

from __future__ import annotations

import re

from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.fitting.settings import FitSettings

ALWAYS = frozenset({"preset", "device"})


def used_settings(preset: str) -> frozenset[str]:
    """Names of the settings that the preset uses."""
    return ALWAYS | _described_uses(preset)


def _described_uses(preset: str) -> frozenset[str]:
    """By the descriptions: "... (standard, preview)." names presets; without, it is for all."""
    fields = FitSettings.model_fields.items()
    return frozenset(
        name for name, field in fields if preset in (_named_presets(field.description) or PRESETS)
    )


def _named_presets(description: str | None) -> list[str]:
    brackets = re.findall(r"\(([^()]*)\)", description or "")
    words = [word.strip() for bracket in brackets for word in bracket.split(",")]
    return [word for word in words if word in PRESETS]
