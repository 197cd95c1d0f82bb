"""The plugin manifest: one file at two places, valid, and found by npe2."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from npe2 import PluginManifest

import napari_dpdeblur

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGED = Path(napari_dpdeblur.__file__).with_name("napari.yaml")


def test_the_manifest_at_the_top_is_the_packaged_one():
    top = REPOSITORY / "napari.yaml"
    assert top.resolve() == REPOSITORY / "src" / "napari_dpdeblur" / "napari.yaml"
    assert top.read_bytes() == PACKAGED.read_bytes()


@pytest.mark.parametrize("path", [REPOSITORY / "napari.yaml", PACKAGED], ids=["top", "packaged"])
def test_the_manifest_is_valid_and_every_command_can_be_imported(path):
    manifest = PluginManifest.from_file(path)
    assert manifest.name == "napari-dpdeblur"
    manifest.validate_imports()
    for command in manifest.contributions.commands or ():
        assert command.id.startswith("napari-dpdeblur.")


def test_npe2_finds_the_plugin_through_its_entry_point():
    try:
        metadata.distribution("napari-dpdeblur")
    except metadata.PackageNotFoundError:
        pytest.skip("napari-dpdeblur is not installed here, only importable")
    found = [result.manifest for result in PluginManifest.discover()]
    assert "napari-dpdeblur" in [manifest.name for manifest in found if manifest]
