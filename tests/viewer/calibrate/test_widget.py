"""The Calibrate widget in a real window, with photographs of a simulated phone."""

from __future__ import annotations

import dataclasses
import os
import signal
import time

import napari
import numpy as np
import psutil
import pytest
from controls import assert_usable
from napari.utils.notifications import notification_manager
from qtpy.QtCore import QMimeData, QPointF, Qt, QUrl
from qtpy.QtGui import QDropEvent
from qtpy.QtWidgets import QFileDialog, QLabel, QPushButton, QScrollArea
from resting import assert_rests

from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.viewer.calibrate.controls import MEASURE
from napari_dpdeblur.viewer.calibrate.verdict import COLORS, verdict_html
from napari_dpdeblur.viewer.calibrate.widget import CalibrateWidget
from napari_dpdeblur.viewer.fit.inputs import FitInputs
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.shared import remembered

FRAME = (384, 480)
PATIENCE_MS = 240_000
SOON_S = 20  # one second on a quiet machine: benchmarks/heartbeat.py
SOLVER = {"rows": 2, "cols": 3, "kernel_px": 23, "iterations": 40}


@pytest.fixture(scope="module")
def shoot(tmp_path_factory):
    """A folder with everything that is photographed."""
    lens = synthetic_calibration(*FRAME, rows=2, cols=3)
    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    lens = dataclasses.replace(lens, kernels=kernels)
    target = Target.for_screen(520, 420, 32.0)
    pose = Pose(scale=1.0, rotation_deg=3.0, tilt_deg=(3.0, -2.0), distortion=-0.02)
    folder = tmp_path_factory.mktemp("shoot")
    front = simulate_shoot(target, lens, pose, scale=-1.0, burst=1, sheets=0)
    write_shoot(simulate_shoot(target, lens, pose, burst=1, sheets=2), target, folder, front)
    return folder


class Bench:
    """The widget in its window, with shorthands."""

    def __init__(self, viewer, qtbot):
        self.viewer, self.qtbot = viewer, qtbot
        self._before = len(notification_manager.records)
        self.widget = CalibrateWidget(viewer)
        self.dock = viewer.window.add_dock_widget(self.widget, name="Calibrate")

    @property
    def worker(self):
        return self.widget.panel.worker

    @property
    def messages(self):
        return [record.message for record in notification_manager.records[self._before :]]

    @property
    def names(self):
        return [layer.name for layer in self.viewer.layers]

    def until(self, condition, patience_ms=PATIENCE_MS):
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=patience_ms)

    def choose(self, shoot, solver=SOLVER):
        self.widget.target.load(shoot / "target.json")
        for name, group in self.widget.groups.items():
            group.list.add([shoot / name])
        self.widget.camera.setText("Phone")
        self.widget.form.value = solver

    def start(self, stage):
        stages = []
        self.worker.progressed.connect(lambda event: stages.append(event.stage))
        self.widget.panel.run_button.click()
        self.until(lambda: stage in stages)
        return psutil.Process(self.worker.pid)

    def finish(self):
        self.until(lambda: self.widget.panel.status.text().startswith("Done"))


@pytest.fixture
def bench(viewer, qtbot):
    made = Bench(viewer, qtbot)
    yield made
    made.worker.kill()
    made.widget.deleteLater()


def _greenness_at(layer, positions):
    rows, cols = np.round((positions - layer.translate) / layer.scale).astype(int).T
    colors = layer.data[rows, cols].astype(int)
    return colors[:, 1] - colors[:, 0]


def test_from_photographs_to_a_saved_file(bench, shoot, tmp_path):
    bench.choose(shoot)
    bench.start("discs")
    bench.until(lambda: "Phone target" in bench.names)
    target = bench.viewer.layers["Phone target"]
    centres = layer_info(target).centres
    assert len(centres) > 100
    radius = 7 * target.scale[1]  # of a ring, in pixels of the frame
    assert _greenness_at(target, centres + np.array([0.0, radius])).mean() > 50
    assert _greenness_at(target, centres).max() == 0
    seen = target.extent.world
    np.testing.assert_allclose(seen[1] - seen[0], np.array(FRAME), atol=3)
    bench.finish()
    kernels = bench.viewer.layers["Phone kernels"]
    assert kernels.data.shape == (2 * 23, 3 * 23, 3)
    assert kernels.visible
    assert bench.viewer.layers.selection.active is kernels
    assert not target.visible
    np.testing.assert_allclose(layer_info(target).centres, centres, atol=0.1)
    assert bench.names == ["Phone target", "Phone vignetting", "Phone kernels"]
    assert list(queries.calibrations(bench.viewer)) == ["Phone"]
    verdict = bench.widget.calibration.verdict
    assert bench.widget.verdict.text() == verdict_html(verdict, "derived from the back")
    assert COLORS[verdict["grade"]] in bench.widget.verdict.text()
    path = tmp_path / "phone"
    bench.widget.save(path)
    bench.until(lambda: any("Calibration saved to" in text for text in bench.messages))
    saved = load_calibration(tmp_path / "phone.dpcal")
    assert saved.content_hash() == bench.widget.calibration.content_hash()


def test_both_sides_are_measured(bench, shoot, tmp_path):
    bench.choose(shoot)
    for name in ("front_discs", "front_white"):
        bench.widget.front[name].list.add([shoot / name])
    bench.widget.panel.run_button.click()
    expected = "No captures of the black screen in front: drop their files onto the list."
    assert bench.messages[-1] == expected
    bench.widget.front["front_black"].list.add([shoot / "front_black"])
    bench.widget.panel.run_button.click()
    bench.finish()
    made = bench.widget.calibration
    assert made.front_scale == pytest.approx(-1, abs=0.05)
    assert "Kernels in front of the focus plane: measured." in bench.widget.verdict.text()
    kinds = ["target", "vignetting", "front kernels", "kernels"]
    assert bench.names == [f"Phone {kind}" for kind in kinds]
    front = bench.viewer.layers["Phone front kernels"]
    assert not front.visible
    assert (front.data != bench.viewer.layers["Phone kernels"].data).any()
    bench.widget.save(tmp_path / "both.dpcal")
    bench.until(lambda: any("Calibration saved to" in text for text in bench.messages))
    assert load_calibration(tmp_path / "both.dpcal").front == "measured"


def test_files_are_dropped_onto_a_list(bench, shoot):
    files = bench.widget.groups["white"].list
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in sorted((shoot / "white").iterdir())])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    files.dropEvent(event)
    files.dropEvent(event)
    assert files.paths == sorted((shoot / "white").iterdir())
    files.setCurrentRow(0)
    bench.qtbot.keyClick(files, Qt.Key.Key_Delete)
    assert len(files.paths) == 1


def test_what_is_missing_is_told(bench, shoot):
    bench.widget.panel.run_button.click()
    assert bench.messages[-1] == "No captures of the discs: drop their files onto the list."
    bench.choose(shoot, {"kernel_px": 22})
    bench.widget.panel.run_button.click()
    assert "kernel_px = 22 cannot be used" in bench.messages[-1]
    bench.widget.target.target = None
    bench.widget.panel.run_button.click()
    assert "No calibration target" in bench.messages[-1]
    assert not bench.worker.is_running


def test_cancel_is_quick_and_the_widget_runs_again(bench, shoot):
    bench.choose(shoot, {**SOLVER, "iterations": 100_000})
    child = bench.start("pattern")
    begin = time.monotonic()
    bench.widget.panel.cancel_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert time.monotonic() - begin < SOON_S
    assert not child.is_running()
    # What was found stays; its layer may come a moment after the end.
    bench.until(lambda: "Phone target" in bench.names, SOON_S * 1000)
    bench.widget.form.value = SOLVER
    bench.widget.panel.run_button.click()
    bench.finish()


@pytest.mark.skipif(os.name != "posix", reason="kills as only POSIX systems can")
def test_a_second_one_is_refused_pause_rests_and_a_killed_child_is_told(bench, shoot):
    """One after the other: each start of a calibration loads torch in a new process."""
    bench.choose(shoot, {**SOLVER, "iterations": 100_000})
    child = bench.start("pattern")
    assert_a_second_one_is_refused(bench, child)
    bench.widget.panel.pause_button.click()
    assert_rests(child, bench.qtbot.wait)
    os.kill(child.pid, signal.SIGKILL)
    bench.until(lambda: not bench.worker.is_running)
    assert "The calibration was terminated (SIGKILL)" in bench.messages[-1]
    assert bench.widget.panel.run_button.isEnabled()


def assert_a_second_one_is_refused(bench, child):
    bench.widget.run()
    assert "A calibration is already running" in bench.messages[-1]
    assert bench.worker.pid == child.pid
    assert not bench.widget.published_button.isEnabled()


def test_a_capture_without_discs(bench, shoot):
    bench.choose(shoot)
    discs = bench.widget.groups["discs"].list
    discs.clear()
    discs.add([shoot / "black"])
    bench.widget.panel.run_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert bench.messages[-1].endswith(".")
    assert bench.widget.panel.status.text() == bench.messages[-1]


def test_a_file_is_loaded(bench, calibration, tmp_path):
    path = tmp_path / "lens.dpcal"
    save_calibration(calibration, path)
    bench.widget.load(path)
    bench.finish()
    assert "synthetic lens kernels" in bench.names
    assert "No verdict" in bench.widget.verdict.text()
    assert remembered.remembered("fit")["calibration"] == str(path)
    bench.widget.load(tmp_path / "missing.dpcal")
    bench.until(lambda: not bench.worker.is_running)
    assert "does not exist" in bench.messages[-1]


def test_the_published_calibration_in_one_click(bench, pixel4_data, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    bench.widget.published_button.click()
    bench.finish()
    assert bench.widget.calibration.camera == "Google Pixel 4"
    kernels = bench.viewer.layers["Google Pixel 4 kernels"]
    assert kernels.data.shape == (6 * 61, 8 * 61, 3)
    path = layer_info(kernels).calibration_path
    assert load_calibration(path).camera == "Google Pixel 4"
    assert remembered.remembered("fit")["calibration"] == path


def test_no_network_is_a_message(bench, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    bench.widget.published_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert "cannot be downloaded" in bench.messages[-1]
    assert bench.widget.published_button.isEnabled()


def test_a_full_disk(bench, calibration, tmp_path):
    resource = pytest.importorskip("resource")
    bench.widget.calibration = calibration
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        bench.widget.save(tmp_path / "lens.dpcal")
        bench.until(lambda: bench.messages)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot be written" in bench.messages[-1]
    assert list(tmp_path.iterdir()) == []
    assert bench.widget.save_button.isEnabled()


def test_a_name_without_suffix_replaces_no_file(bench, calibration, tmp_path, monkeypatch):
    earlier = tmp_path / "phone.dpcal"
    earlier.write_bytes(b"earlier")
    bench.widget.calibration = calibration
    given = str(tmp_path / "phone"), ""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: given)
    bench.widget.choose_and_save()
    assert "phone.dpcal already exists" in bench.messages[-1]
    assert earlier.read_bytes() == b"earlier"
    bench.widget.save(earlier)  # a dialog has asked about this name
    bench.until(lambda: any("Calibration saved to" in text for text in bench.messages))
    assert load_calibration(earlier).content_hash() == calibration.content_hash()


def test_the_command_line_can_name_what_was_saved(bench, viewer, calibration, tmp_path):
    put_layers(viewer, calibration_layers(calibration))
    inputs = FitInputs(viewer, bench.widget)
    assert inputs.calibration_path is None
    bench.widget.calibration = calibration
    bench.widget.save(tmp_path / "lens.dpcal")
    bench.until(lambda: any("Calibration saved to" in text for text in bench.messages))
    assert inputs.calibration is calibration
    assert inputs.calibration_path == tmp_path / "lens.dpcal"


def test_the_target_is_shown_and_kept(bench, viewer, qtbot):
    bench.widget.target.distance.setValue(30.0)
    bench.widget.target.show_full_screen()
    bench.until(lambda: bench.widget.target.slides is not None)
    slides = bench.widget.target.slides
    shown = bench.widget.target.target
    assert slides.frame == "discs"
    bench.qtbot.keyClick(slides, Qt.Key.Key_Escape)
    bench.until(lambda: bench.widget.target.slides is None)
    again = CalibrateWidget(viewer)
    assert again.target.target.describe() == shown.describe()
    again.deleteLater()


def test_the_target_is_saved_for_another_screen(bench, tmp_path):
    bench.widget.target.save(tmp_path)
    bench.until(lambda: bench.messages)
    assert bench.messages[-1] == f"Target saved to {tmp_path}."
    assert {"discs.png", "slides.html", "target.json"} <= {p.name for p in tmp_path.iterdir()}
    bench.widget.target.load(tmp_path / "discs.png")
    assert "is not a calibration target" in bench.messages[-1]


def test_settings_are_remembered(bench, viewer):
    bench.widget.camera.setText("My phone")
    bench.widget.focus.setValue(0.137)
    bench.widget.form.value = SOLVER
    bench.until(lambda: remembered.remembered("calibrate").get("camera") == "My phone")
    again = CalibrateWidget(viewer)
    assert again.camera.text() == "My phone"
    assert again.focus.value() == 0.137
    assert again.form.value["kernel_px"] == 23
    again.deleteLater()


def test_every_control_has_a_tooltip_a_name_and_the_keyboard(bench):
    assert_usable(bench.widget, at_least=15)


def test_it_fits_a_small_laptop(bench, viewer):
    window = viewer.window._qt_window
    assert window.width() <= 1366
    assert window.height() <= 768
    bench.widget.show_way(MEASURE)
    bench.qtbot.wait(100)
    for scroll in bench.widget.findChildren(QScrollArea, "scroll"):
        if scroll.isVisible():
            assert scroll.widget().width() <= scroll.viewport().width()
            assert scroll.widget().height() <= scroll.viewport().height()
    assert bench.widget.panel.run_button.isVisible()


def test_loading_and_saving_of_target_and_calibration_are_told_apart(bench):
    texts = [button.text() for button in bench.widget.findChildren(QPushButton)]
    named = [text for text in texts if text.startswith(("Load", "Save"))]
    assert sorted(named) == [
        "Load calibration",
        "Load target…",
        "Save calibration…",
        "Save target…",
    ]


def test_captures_are_checked_as_soon_as_they_are_chosen(bench, shoot):
    bench.widget.groups["discs"].list.add([shoot / "discs"])
    bench.widget.groups["white"].list.add([shoot / "discs"])
    bench.widget.groups["sheets"].list.add([shoot / "sheets"])
    bench.until(lambda: bench.widget.groups["sheets"].check.text())
    assert bench.widget.groups["discs"].check.text() == "1 capture, 480 x 192 px"
    assert bench.widget.groups["white"].check.text() == "not plain: are these the discs?"
    assert bench.widget.groups["sheets"].check.text() == "2 captures, 480 x 192 px"
    assert not bench.worker.is_running
    assert (
        bench.widget.groups["sheets"].findChild(QLabel, "title_sheets").text()
        == "White sheet: 2 captures"
    )
    bench.widget.estimate.captures.list.add([shoot / "nothing"])
    bench.until(lambda: bench.widget.estimate.captures.check.text())
    assert "does not exist" in bench.widget.estimate.captures.check.text()


@pytest.fixture
def scene_beside_calibration(pixel4_data, tmp_path, monkeypatch):
    """A published scene with `calibration/` beside it, and no network."""
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    return open_capture(pixel4_data / "pixel4" / "001_left.png"), pixel4_data / "pixel4"


def test_a_calibration_beside_the_capture_needs_no_network(bench, scene_beside_calibration):
    capture, folder = scene_beside_calibration
    put_layers(bench.viewer, capture_layers(capture))
    bench.until(lambda: bench.widget.choose.list.count() == 1)
    bench.widget.published_button.click()
    bench.finish()
    assert bench.widget.calibration.camera == "Google Pixel 4"
    kernels = bench.viewer.layers["Google Pixel 4 kernels"]
    assert layer_info(kernels).calibration_path == str(folder / "calibration")
    assert not kernels.visible  # it would cover the capture


def test_the_load_button_takes_files_and_folders(bench, pixel4_data, calibration, monkeypatch):
    chosen = []
    monkeypatch.setattr(bench.widget, "load", chosen.append)
    folder = pixel4_data / "pixel4" / "calibration"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    file = str(folder / "blur_kernels_left.npy"), ""
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: file)
    menu = bench.widget.load_button.menu()
    menu.popup(bench.widget.mapToGlobal(bench.widget.rect().center()))
    assert [action.text() for action in menu.actions()] == ["File…", "Folder…"]
    for action in menu.actions():
        action.trigger()
    menu.close()
    assert chosen == [folder, folder]


def test_the_window_is_closed(display, qtbot, shoot):
    bench = Bench(napari.Viewer(), qtbot)
    bench.choose(shoot, {**SOLVER, "iterations": 100_000})
    child = bench.start("pattern")
    bench.viewer.close()
    qtbot.waitUntil(lambda: not child.is_running(), timeout=60_000)


def test_a_bad_verdict_names_its_remedy():
    verdict = {
        "grade": "bad",
        "checks": [
            {"grade": "bad", "meaning": "noise", "value": 0.2, "remedy": "Merge <more>."},
            {"grade": "good", "meaning": "fine", "value": 0.1, "remedy": "Nothing."},
        ],
        "notes": ["No white sheet."],
    }
    text = verdict_html(verdict, "measured")
    assert COLORS["bad"] in text
    assert "noise: 0.2" in text
    assert "Merge &lt;more&gt;." in text
    assert "Nothing." not in text
    assert "No white sheet." in text
    assert "Kernels in front of the focus plane: measured." in text
    assert "In front: " not in text
    both = verdict_html({**verdict, "front": verdict}, "measured")
    assert both.count("Merge &lt;more&gt;.") == 2
    assert "In front: No white sheet." in both
