"""The plugin manifest: one file at two places, valid, and found by npe2."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from npe2 import PluginManifest

import napari_dpdeblur

REPOSITORY = Path(__file__).resolve().parents[1]
TOP = REPOSITORY / "napari.yaml"
PACKAGED = Path(napari_dpdeblur.__file__).with_name("napari.yaml")

linked = pytest.mark.skipif(
    os.name == "nt" and not TOP.is_symlink(), reason="Git has made a text file of the link"
)


@linked
def test_the_manifest_at_the_top_is_the_packaged_one():
    assert TOP.resolve() == REPOSITORY / "src" / "napari_dpdeblur" / "napari.yaml"
    assert TOP.read_bytes() == PACKAGED.read_bytes()


@pytest.mark.parametrize(
    "path", [pytest.param(TOP, marks=linked), PACKAGED], ids=["top", "packaged"]
)
def test_the_manifest_is_valid_and_every_command_can_be_imported(path):
    manifest = PluginManifest.from_file(path)
    assert manifest.name == "napari-dpdeblur"
    manifest.validate_imports()
    for command in manifest.contributions.commands or ():
        assert command.id.startswith("napari-dpdeblur.")


def test_no_command_loads_torch():
    """It is loaded when the first fit starts, in a process of its own."""
    code = (
        "import sys; from npe2 import PluginManifest; manifest = PluginManifest.from_file("
        "sys.argv[1]); manifest.validate_imports(); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(PACKAGED)], check=False)
    assert done.returncode == 0


def test_menus_are_those_that_plugins_may_use():
    manifest = PluginManifest.from_file(PACKAGED)
    assert set(manifest.contributions.menus) == {
        "napari/file/io_utilities",
        "napari/layers/filter",
        "napari/layers/measure",
        "napari/layers/visualize",
    }
    commands = {command.id for command in manifest.contributions.commands}
    for items in manifest.contributions.menus.values():
        assert {item.command for item in items} <= commands


def test_every_panel_and_sample_is_listed():
    contributions = PluginManifest.from_file(PACKAGED).contributions
    panels = [widget.display_name for widget in contributions.widgets]
    assert panels == ["Dual-pixel deblur", "Calibrate", "Fit", "Inspect", "Evaluate"]
    assert (
        len(contributions.sample_data) == 3
    )  # more of them, told apart by numbers, are in the picker
    used = {
        *(widget.command for widget in contributions.widgets),
        *(sample.command for sample in contributions.sample_data),
        *(reader.command for reader in contributions.readers),
        *(writer.command for writer in contributions.writers),
        *(item.command for items in contributions.menus.values() for item in items),
    }
    assert used == {command.id for command in contributions.commands}


def test_npe2_finds_the_plugin_through_its_entry_point():
    try:
        metadata.distribution("napari-dpdeblur")
    except metadata.PackageNotFoundError:
        pytest.skip("napari-dpdeblur is not installed here, only importable")
    found = [result.manifest for result in PluginManifest.discover()]
    assert "napari-dpdeblur" in [manifest.name for manifest in found if manifest]
