"""Keep napari's "Remember this choice" from sending every picture to this plugin.

napari remembers a reader by the suffix of the file alone: whoever ticks the box for `001_left.png`
would hear for each ordinary PNG that the plugin may be uninstalled.
"""

from __future__ import annotations

from napari.settings import get_settings

from napari_dpdeblur.capture.picture import PICTURE_SUFFIXES

PLUGIN = "napari-dpdeblur"
SUFFIXES = (*PICTURE_SUFFIXES, ".pgm")
# Names that are those of views, where a single letter is no more than a hint.
NARROW = ("*[_-]left{}", "*[_-]right{}", "*[/\\]left{}", "*[/\\]right{}")


def narrow_remembered_choice() -> None:
    """Replace remembered choices for all pictures by choices for names of views."""
    plugins = get_settings().plugins
    chosen = dict(plugins.extension2reader)
    broad = {f"*{suffix}": suffix for suffix in SUFFIXES}
    ours = [name for name, plugin in chosen.items() if plugin == PLUGIN and name.lower() in broad]
    if not ours:
        return
    kept = {name: plugin for name, plugin in chosen.items() if name not in ours}
    suffixes = [broad[name.lower()] for name in ours]
    narrow = {pattern.format(suffix): PLUGIN for suffix in suffixes for pattern in NARROW}
    plugins.extension2reader = {**narrow, **kept}
