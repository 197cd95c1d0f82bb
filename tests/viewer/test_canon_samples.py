"""The captures of a Canon among the samples."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from napari.utils.notifications import notification_manager

from napari_dpdeblur.datasets.canon_r6 import CANON_R6
from napari_dpdeblur.viewer import canon_samples, samples
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.arrival import running

PLUGIN = "napari-dpdeblur"


@pytest.fixture
def mirror(canon_data, tmp_path, monkeypatch):
    """A folder in the published layout; the depth there has 8 bits, ours is in millimetres."""
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DPDEBLUR_CANON_R6_MIRROR", str(tmp_path / "mirror"))
    target = tmp_path / "mirror" / "flat" / "001" / "0600" / "f4"
    shutil.copytree(canon_data / "flat_0600_f4", target, copy_function=shutil.copyfile)
    return tmp_path / "mirror"


def test_a_scene_arrives_in_the_background(viewer, qtbot, mirror):
    for data, options, _ in canon_samples.canon_r6("flat_0600_f4"):
        viewer.add_image(data, **options)
    qtbot.waitUntil(lambda: not running(), timeout=60_000)
    (capture,) = queries.captures(viewer).values()
    assert (capture.name, capture.optics.focus_distance_m) == ("flat_0600_f4", 1.0)
    assert [layer.name for layer in viewer.layers] == ["flat_0600_f4 right", "flat_0600_f4 left"]


def test_a_failed_download_is_one_sentence_and_leaves_no_notice(viewer, qtbot, mirror):
    before = len(notification_manager.records)
    (notice,) = viewer.open_sample(PLUGIN, "canon_r6_box_001")
    assert notice.name.startswith("Canon R6 scene box_001")
    qtbot.waitUntil(lambda: len(viewer.layers) == 0, timeout=30_000)
    message = str(list(notification_manager.records)[before:][-1].message)
    assert "set DPDEBLUR_CANON_R6_MIRROR to a folder" in message


def test_measured_depth_is_a_hidden_layer(viewer_model, canon_data, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    folder = CANON_R6.cache_folder() / "box" / "001"
    shutil.copytree(canon_data / "box_001", folder, copy_function=shutil.copyfile)
    (folder / "depth_mm.png").rename(folder / "d.png")
    for data, options, _ in canon_samples._read_scene("box_001"):
        viewer_model.add_image(data, **options)
    depth = viewer_model.layers["box_001 measured depth (m)"]
    assert not depth.visible
    assert 0.3 < np.nanmin(depth.data) < np.nanmax(depth.data) < 10


def test_without_a_viewer_a_sample_is_a_notice(monkeypatch):
    monkeypatch.setattr(samples.napari, "current_viewer", lambda: None)
    ((_, options, _),) = canon_samples.box()
    assert options["name"].startswith("Canon R6 scene")
