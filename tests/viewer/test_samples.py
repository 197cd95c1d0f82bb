"""Sample data."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from napari.utils.notifications import notification_manager

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.viewer import samples
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import KERNELS
from napari_dpdeblur.viewer.layers.metadata import TRUE_DEFOCUS, TRUE_IMAGE, layer_info
from napari_dpdeblur.viewer.open.arrival import running

PLUGIN = "napari-dpdeblur"


def test_the_synthetic_sample_is_complete(viewer_model):
    for data, options, _ in samples.synthetic_layers():
        viewer_model.add_image(data, **options)
    (capture,) = queries.captures(viewer_model).values()
    (lens,) = queries.calibrations(viewer_model).values()
    assert capture.raw.shape == (2, 3, 1008, 1344)
    assert lens.prepare(capture).shape == (2, 3, 1008, 1344)
    shown = [layer.name for layer in viewer_model.layers if layer.visible]
    assert shown == ["synthetic right", "synthetic left"]
    truth = queries.layer_of(viewer_model, "synthetic", TRUE_DEFOCUS)
    assert truth.data.min() == np.float32(-0.55)
    assert truth.data.max() == 0.75
    assert queries.layer_of(viewer_model, "synthetic", TRUE_IMAGE).data.shape == (1008, 1344, 3)


def test_the_subject_of_the_synthetic_sample_is_in_focus(viewer_model):
    """Between blurred objects behind it and in front of it."""
    for data, options, _ in samples.synthetic_layers():
        viewer_model.add_image(data, **options)
    defocus = queries.layer_of(viewer_model, "synthetic", TRUE_DEFOCUS).data
    assert defocus[504, 500] == 0
    assert (defocus > 0.15).mean() > 0.3
    assert (defocus < -0.15).mean() > 0.2


def test_the_synthetic_sample_needs_no_torch():
    code = (
        "import sys; from napari_dpdeblur.viewer.samples import synthetic; synthetic();"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def mirror(pixel4_data, tmp_path, monkeypatch):
    """Fetch from the data of the tests into an empty cache."""
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))


def test_a_published_scene_arrives_in_the_background(viewer, qtbot, mirror):
    (notice,) = viewer.open_sample(PLUGIN, "pixel4")
    assert notice.name.startswith("Pixel 4 scene 005")
    assert queries.captures(viewer) == {}
    qtbot.waitUntil(lambda: not running(), timeout=60_000)
    assert "005" in queries.captures(viewer)
    assert notice not in viewer.layers
    (lens,) = queries.calibrations(viewer).values()
    assert lens.camera == "Google Pixel 4"
    path = layer_info(queries.layer_of(viewer, "Google Pixel 4", KERNELS)).calibration_path
    assert load_calibration(path).content_hash() == lens.content_hash()
    assert lens.prepare(queries.captures(viewer)["005"]).shape == (2, 1, 1008, 1344)
    truth = queries.layer_of(viewer, "005", TRUE_IMAGE)
    np.testing.assert_allclose(truth.extent.world, [[252, 336], [1259, 1679]])


def test_a_failed_download_is_one_sentence_and_leaves_no_notice(
    viewer, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    before = len(notification_manager.records)
    put_layers(viewer, samples.pixel4(8))
    qtbot.waitUntil(lambda: len(viewer.layers) == 0, timeout=30_000)
    message = str(list(notification_manager.records)[before:][-1].message)
    assert "cannot be downloaded (" in message
    assert "set DPDEBLUR_PIXEL4_MIRROR to a folder" in message


def test_removing_the_notice_cancels(viewer, qtbot, mirror, tmp_path):
    (notice,) = viewer.open_sample(PLUGIN, "pixel4")
    viewer.layers.remove(notice)
    qtbot.wait(200)
    qtbot.waitUntil(lambda: not running(), timeout=60_000)
    assert len(viewer.layers) == 0


def test_the_synthetic_sample_does_not_block_its_menu(viewer, qtbot, monkeypatch):
    """It is made in a thread: the menu returns before the scene is there."""
    begun, may_go_on = threading.Event(), threading.Event()
    made = samples.synthetic_layers()

    def slowly():
        begun.set()
        assert may_go_on.wait(60)
        return made

    monkeypatch.setattr(samples, "synthetic_layers", slowly)
    (notice,) = viewer.open_sample(PLUGIN, "synthetic")
    assert notice.name.startswith("Synthetic scene")
    qtbot.waitUntil(begun.is_set, timeout=30_000)
    assert queries.captures(viewer) == {}
    may_go_on.set()
    qtbot.waitUntil(lambda: not running(), timeout=60_000)
    assert notice not in viewer.layers
    assert viewer.layers["synthetic left"].visible
    assert list(queries.captures(viewer)) == ["synthetic"]
