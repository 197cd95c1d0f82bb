"""The plugin's settings in napari's Preferences; defaults for napari versions without them."""

from __future__ import annotations

from typing import Any

PLUGIN, SECTION = "napari-dpdeblur", "general"
# As in the manifest.
DEFAULTS: dict[str, Any] = {"defocus_colormap": "viridis", "remember_settings": True}


def preference(name: str) -> Any:
    """The value of a setting of the plugin."""
    try:
        from napari.settings import get_plugin_settings  # since napari 0.9

        return getattr(getattr(get_plugin_settings(PLUGIN), SECTION), name)
    except (ImportError, KeyError, AttributeError):
        return DEFAULTS[name]
