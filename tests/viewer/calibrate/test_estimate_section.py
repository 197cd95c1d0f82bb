"""Estimate from captures in the Calibrate panel: list, optics, progress, verdict, saving."""

from __future__ import annotations

import pytest
from napari.utils.notifications import notification_manager
from qtpy.QtWidgets import QPushButton

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.viewer.calibrate.controls import ESTIMATE
from napari_dpdeblur.viewer.calibrate.widget import CalibrateWidget
from napari_dpdeblur.viewer.layers import queries

PATIENCE_MS = 240_000


@pytest.fixture
def widget(viewer, qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    made = CalibrateWidget(viewer)
    viewer.window.add_dock_widget(made, name="Calibrate")
    yield made
    made.panel.worker.kill()
    made.deleteLater()


def test_without_captures_there_is_nothing_to_estimate(widget):
    with pytest.raises(SettingsError, match="No captures to estimate the lens from: drop"):
        widget.estimate.request(None)
    widget.findChild(QPushButton, "estimate_lens").click()
    assert "No captures to estimate the lens from" in notification_manager.records[-1].message


def test_the_request_has_what_the_controls_say(widget, tmp_path, calibration):
    section = widget.estimate
    section.captures.list.add([tmp_path])
    plain = section.request(calibration)
    assert plain.captures == (tmp_path,)
    assert plain.camera is None
    assert set(plain.optics.values()) == {None}
    assert plain.start is None
    section.camera.setText(" Canon R6 ")
    section.optics["focal_length_mm"].setValue(50)
    section.form.value = {"profile": "canon full frame"}
    section.refine.setEnabled(True)
    section.refine.setChecked(True)
    full = section.request(calibration)
    assert (full.camera, full.optics["focal_length_mm"]) == ("Canon R6", 50)
    assert full.settings.profile == "canon full frame"
    assert full.start is calibration


def test_an_estimate_shows_its_verdict_and_is_saved(widget, viewer, qtbot, tmp_path):
    folder = tmp_path / "scene"
    folder.mkdir()
    simulation = simulate(288, 384)
    write_synthetic(folder, simulation.scene, simulation.capture)
    widget.show_way(ESTIMATE)
    widget.estimate.captures.list.add([folder])
    widget.estimate.camera.setText("Camera")
    pictures = []
    widget.panel.worker.progressed.connect(lambda _: pictures.append(widget.lens.isVisible()))
    widget.estimate.button.click()
    assert not widget.estimate.button.isEnabled()
    qtbot.waitUntil(lambda: widget.panel.status.text().startswith("Done"), timeout=PATIENCE_MS)
    assert any(pictures), "the kernels so far"
    assert "Verdict" in widget.verdict.text()
    lens = queries.calibrations(viewer)["Camera"]
    assert lens.is_estimated
    assert lens.frame_shape == (288, 384)
    assert widget.estimate.refine.isEnabled()
    widget.save(tmp_path / "lens.dpcal")
    qtbot.waitUntil((tmp_path / "lens.dpcal").exists, timeout=PATIENCE_MS)
    qtbot.waitUntil(widget.save_button.isEnabled, timeout=PATIENCE_MS)
    assert load_calibration(tmp_path / "lens.dpcal").content_hash() == lens.content_hash()
