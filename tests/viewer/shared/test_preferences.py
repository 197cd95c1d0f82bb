"""Settings in napari's Preferences."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from napari_dpdeblur.viewer.layers.convert import defocus_layer
from napari_dpdeblur.viewer.layers.metadata import LayerInfo
from napari_dpdeblur.viewer.layers.placement import placement
from napari_dpdeblur.viewer.shared import preferences, remembered

settings = pytest.importorskip("napari.settings")
if not hasattr(settings, "get_plugin_settings"):
    pytest.skip("this napari has no settings of plugins", allow_module_level=True)


@pytest.fixture
def chosen():
    """The settings of the plugin as napari keeps them; put back afterwards."""
    section = settings.get_plugin_settings(preferences.PLUGIN).general
    yield section
    for name, value in preferences.DEFAULTS.items():
        setattr(section, name, value)


def test_the_defaults_are_those_of_the_manifest(chosen):
    from importlib.resources import files

    manifest = yaml.safe_load((files("napari_dpdeblur") / "napari.yaml").read_text("utf-8"))
    properties = manifest["contributions"]["configurations"]["general"]["properties"]
    assert {name: entry["default"] for name, entry in properties.items()} == preferences.DEFAULTS
    assert {name: preferences.preference(name) for name in properties} == preferences.DEFAULTS


def test_the_colours_of_defocus_maps(chosen):
    chosen.defocus_colormap = "inferno"
    placed = placement((1.0, 1.0), (0.0, 0.0))
    assert defocus_layer(np.eye(3), LayerInfo("map", "a"), placed)[1]["colormap"] == "inferno"


def test_nothing_is_remembered_unless_wanted(chosen):
    remembered.remember("fit", {"layers": 7})
    chosen.remember_settings = False
    assert remembered.remembered("fit") == {}
    remembered.remember("fit", {"layers": 9})
    chosen.remember_settings = True
    assert remembered.remembered("fit") == {"layers": 7}
