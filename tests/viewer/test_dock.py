"""The dock with all steps: tabs, next steps, help, room, and what is remembered per camera."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from controls import assert_usable
from fit_bench import ENDLESS, QUICK
from napari.utils.notifications import notification_manager
from qtpy.QtCore import QPoint, Qt
from qtpy.QtGui import QDesktopServices
from qtpy.QtWidgets import QFileDialog, QLabel, QPushButton, QScrollArea
from superqt import QCollapsible

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.results import read_run
from napari_dpdeblur.viewer.dock import (
    CALIBRATE,
    DOCS,
    EVALUATE,
    FIT,
    HELP,
    INSPECT,
    OPEN,
    TABS,
    show_dock,
)
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.camera import camera_of as view_of
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers
from napari_dpdeblur.viewer.open.cameras import camera_of, last_folder, note, recall
from napari_dpdeblur.viewer.open.fit_queue import fit_queue
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import SteadyLabel, section, text_label

PATIENCE_MS = 240_000
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def dock(viewer, qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    made = show_dock(viewer)
    yield made
    made.close_down()


@pytest.fixture
def pairs(tmp_path, scene_capture, calibration):
    """A folder of three pairs with their calibration, as `adb pull` makes it."""
    folder = tmp_path / "captures"
    folder.mkdir()
    left, right = scene_capture.raw[:, 0]
    for number, name in enumerate(("one", "two", "three")):
        write_pgm_pair(folder, name, left + number, right, scene_capture.pixel_aspect)
    save_calibration(calibration, folder / "lens.dpcal")
    return folder


def listed(dock, qtbot, folder):
    tab = dock.show_tab(OPEN)
    tab.add([folder])
    qtbot.waitUntil(lambda: tab.list.count() == 3, timeout=PATIENCE_MS)
    return tab


def test_one_dock_has_all_steps_and_each_leads_to_the_next(dock, qtbot):
    assert [dock.tabs.tabText(index) for index in range(dock.tabs.count())] == list(TABS)
    for name in (CALIBRATE, FIT, INSPECT, EVALUATE, OPEN):
        qtbot.mouseClick(dock.next_button, Qt.MouseButton.LeftButton)
        assert dock.current == name
        qtbot.waitUntil(dock.tab(name).isVisible, timeout=10_000)


def test_each_tab_has_a_page_of_the_documentation(dock, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    for name in TABS:
        dock.show_tab(name)
        dock.help_button.click()
        page, _, heading = HELP[name].partition("#")
        text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
        assert not heading or heading in [_anchor(line) for line in headings]
    assert opened == [DOCS + HELP[name] for name in TABS]


def _anchor(heading):
    """As GitHub makes it."""
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c == "-")


def shows_all(area):
    content, shown = area.widget(), area.viewport()
    return content.height() <= shown.height() and content.width() <= shown.width()


def test_main_controls_need_no_scrolling_at_1366_x_768(dock, viewer, qtbot, scene_capture):
    window = viewer.window._qt_window
    window.setGeometry(0, 0, 1366, 768)
    put_layers(viewer, capture_layers(scene_capture))
    for name in TABS:
        tab = dock.show_tab(name)
        areas = [area for area in tab.findChildren(QScrollArea, "scroll") if area.isVisible()]
        qtbot.waitUntil(lambda found=areas: all(map(shows_all, found)), timeout=10_000)
        assert window.height() <= 768
        assert window.width() <= 1366
        assert dock.next_button.mapTo(window, QPoint(0, 0)).y() < 768 - dock.next_button.height()


def test_run_and_the_reading_are_on_a_screen_of_twice_the_scale(display):
    """napari's window is taller than such a screen."""
    helpers = REPOSITORY / "tests" / "helpers"
    paths = os.pathsep.join([str(helpers), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(helpers / "scaled_dock.py")],
        env={**os.environ, "QT_SCALE_FACTOR": "2", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    run, reading, screen = map(int, done.stdout.split()[-3:])
    assert 0 < run <= screen
    assert 0 < reading <= screen


def test_texts_do_not_move_the_buttons(dock, qtbot, scene_capture, viewer):
    put_layers(viewer, capture_layers(scene_capture))
    panel = dock.show_tab(FIT).panel
    qtbot.wait(200)
    place = panel.run_button.mapTo(dock, QPoint(0, 0))
    for text in ("", "Done.", "A very long sentence about what has happened. " * 10):
        panel.say(text)
        qtbot.wait(50)
        assert panel.run_button.mapTo(dock, QPoint(0, 0)) == place
    assert panel.status.toolTip() == text
    calibrate = dock.show_tab(CALIBRATE)
    qtbot.wait(400)
    place = calibrate.panel.cancel_button.mapTo(dock, QPoint(0, 0))
    calibrate.show_verdict("<br>".join(["Verdict: bad"] * 30))
    qtbot.wait(100)
    assert calibrate.panel.cancel_button.mapTo(dock, QPoint(0, 0)) == place


def test_no_line_of_a_label_of_fixed_height_is_cut(dock, qtbot):
    """On the old code the second line of two was cut below."""
    for tab in (OPEN, FIT):
        for label in dock.show_tab(tab).findChildren(SteadyLabel):
            qtbot.waitUntil(label.isVisible, timeout=10_000)
            label.setText("\n".join("g" * label.lines))
            assert label.height() >= label.heightForWidth(label.width())


def test_a_click_on_a_calibration_chooses_it_for_the_fit(
    dock, viewer, qtbot, scene_capture, calibration
):
    """On the old code the fit took the one that was opened last."""
    put_layers(viewer, capture_layers(scene_capture))
    first, second = replace(calibration, camera="first"), replace(calibration, camera="second")
    for lens in (first, second):
        put_layers(viewer, calibration_layers(lens))
    choose = dock.show_tab(CALIBRATE).choose
    qtbot.waitUntil(lambda: choose.list.count() == 2, timeout=10_000)
    for row, lens in ((0, first), (1, second), (0, first)):
        place = choose.list.visualItemRect(choose.list.item(row)).center()
        qtbot.mouseClick(choose.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert dock.tab(FIT).inputs.calibration is lens


def test_plain_names(dock):
    labels = [label.text() for label in dock.show_tab(FIT).main_form.findChildren(QLabel)]
    assert "Nearest blur" in labels
    assert not any("scale" in label.lower() for label in labels)


def test_sections_point_to_the_right_when_collapsed(qtbot):
    folded = section("More", "more", "More settings", text_label("x", "x"))
    qtbot.addWidget(folded)
    assert isinstance(folded, QCollapsible)
    assert folded.text() == "▶  More"
    folded.expand(animate=False)
    assert folded.text() == "▼  More"
    folded.collapse(animate=False)
    assert folded.text() == "▶  More"


def test_a_folder_of_three_pairs_is_a_list_to_choose_from(dock, viewer, qtbot, pairs):
    tab = listed(dock, qtbot, pairs)
    assert len(viewer.layers) == 0
    assert "3 captures found" in tab.status.text()
    for row, name in ((1, "three"), (0, "one")):
        item = tab.list.visualItemRect(tab.list.item(row)).center()
        qtbot.mouseClick(tab.list.viewport(), Qt.MouseButton.LeftButton, pos=item)
        qtbot.waitUntil(lambda name=name: f"{name} is open" in tab.status.text(), timeout=30_000)
        shown = {layer.name for layer in viewer.layers if layer.visible}
        assert shown == {f"{name} left", f"{name} right"}
        inputs = dock.tab(FIT).inputs
        assert inputs.group == name
    assert inputs.calibration == pairs / "lens.dpcal"  # found beside the capture
    assert inputs.fitness.text() == "Matches this capture."
    qtbot.waitUntil(lambda: tab.listing.entries[0].thumbnail is not None, timeout=30_000)


def test_a_wrong_calibration_is_told_before_run(dock, viewer, qtbot, pairs, pixel4_data):
    tab = listed(dock, qtbot, pairs)
    tab.pick(tab.listing.entries[0])
    qtbot.waitUntil(lambda: "is open" in tab.status.text(), timeout=30_000)
    inputs = dock.show_tab(FIT).inputs
    inputs.use_file(pixel4_data / "pixel4" / "calibration")
    expected = "Made for 2016 x 1512 px, but this capture has 128 x 96 px"
    assert inputs.fitness.text().startswith(expected)
    inputs.use_file(pairs / "one_left.pgm")
    assert "is not a calibration file" in inputs.fitness.text()


def test_captures_are_fitted_one_after_the_other(dock, viewer, qtbot, pairs):
    (pairs / "three_left.pgm").unlink()
    tab = dock.show_tab(OPEN)
    tab.add([pairs])
    qtbot.waitUntil(lambda: tab.list.count() == 2, timeout=PATIENCE_MS)
    one, two = tab.listing.entries
    tab.pick(one)
    qtbot.waitUntil(lambda: "is open" in tab.status.text(), timeout=30_000)
    fit = dock.tab(FIT)
    fit.show_settings(QUICK)
    seen = set()
    tab.listing.entry_changed.connect(lambda entry: seen.add((entry.name, entry.state)))
    assert tab.fit_button.text() == "Fit all (2)"
    qtbot.mouseClick(tab.fit_button, Qt.MouseButton.LeftButton)
    assert [one.state, two.state] == ["starting", "waiting"]
    fit.run()  # joins the queue
    assert fit_queue().waiting[-1].title == "one"
    assert "waits for 2 others" in notification_manager.records[-1].message
    qtbot.waitUntil(lambda: fit.panel.status.text().startswith("Done"), timeout=PATIENCE_MS)
    for entry in (one, two):
        assert entry.state.startswith("done in ")
        assert entry.run_folder == pairs / f"{entry.name}-run"
        assert read_run(entry.run_folder).name == entry.name
        assert any(name == entry.name and "%" in state for name, state in seen)
    tab.list.select(two)
    tab.result_button.click()
    qtbot.waitUntil(lambda: "two" in queries.results(viewer), timeout=PATIENCE_MS)


def test_fits_of_the_list_are_cancelled_and_a_failure_is_told(dock, viewer, qtbot, pairs):
    tab = listed(dock, qtbot, pairs)
    (pairs / "one_right.pgm").unlink()
    fit = dock.tab(FIT)
    fit.show_settings(ENDLESS)
    fit.inputs.use_file(pairs / "lens.dpcal")
    tab.fit_all()
    first, second, third = tab.listing.entries
    qtbot.waitUntil(
        lambda: second.fraction is not None and "%" in second.state, timeout=PATIENCE_MS
    )
    assert first.state == "failed"
    assert "one_right.pgm does not exist" in first.details
    tab.cancel_button.click()
    qtbot.waitUntil(lambda: not tab.fits.is_busy, timeout=PATIENCE_MS)
    assert (second.state, third.state) == ("cancelled", "cancelled")
    assert not fit_queue().waiting


def test_what_was_used_with_a_camera_comes_back(
    dock, viewer, qtbot, scene_capture, pairs, calibration
):
    tab = listed(dock, qtbot, pairs)
    tab.pick(tab.listing.entries[0])
    qtbot.waitUntil(lambda: "is open" in tab.status.text(), timeout=30_000)
    fit = dock.tab(FIT)
    fit.show_settings(QUICK)
    fit.settle()
    camera = camera_of(fit.inputs.capture)
    assert recall(camera)["calibration"] == str(pairs / "lens.dpcal")
    assert last_folder() == str(pairs)
    note("another camera", settings={"preset": "paper"})
    remembered.remember("fit", {"settings": {"preset": "paper"}})
    viewer.window.remove_dock_widget("all")
    viewer.layers.clear()
    again = show_dock(viewer).tab(FIT)
    assert again.settings().preset == "paper"
    put_layers(viewer, capture_layers(open_capture(pairs / "two_left.pgm")))
    assert again.settings().preset == "preview"
    assert again.inputs.calibration == pairs / "lens.dpcal"


def test_a_result_is_saved_by_the_button(dock, viewer, qtbot, make_result, tmp_path, monkeypatch):
    put_layers(viewer, run_layers(make_result()))
    dock.show_tab(FIT)
    qtbot.waitUntil(dock.save_button.isEnabled, timeout=10_000)
    name = str(tmp_path / "mine"), ""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: name)
    qtbot.mouseClick(dock.save_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil((tmp_path / "mine.dprun" / "run.yaml").exists, timeout=30_000)
    qtbot.waitUntil(dock.save_button.isEnabled, timeout=30_000)
    messages = [record.message for record in notification_manager.records]
    assert sum(str(tmp_path / "mine.dprun") in message for message in messages) == 1, messages
    dock.save_result()
    qtbot.waitUntil(dock.save_button.isEnabled, timeout=30_000)
    assert "already exists" in notification_manager.records[-1].message


def test_every_control_has_a_tooltip_a_name_and_the_keyboard(dock):
    assert_usable(dock.show_tab(OPEN), at_least=7)


def test_the_next_step_is_prominent_when_this_one_is_done(
    dock, viewer, qtbot, scene_capture, calibration
):
    assert dock.next_button.styleSheet() == ""
    put_layers(viewer, capture_layers(scene_capture))
    qtbot.waitUntil(lambda: dock.next_button.styleSheet() != "", timeout=10_000)
    assert dock.next_button.text() == "Choose or estimate calibration ▸"
    dock.show_tab(CALIBRATE)
    assert dock.next_button.styleSheet() == ""
    put_layers(viewer, calibration_layers(calibration))
    qtbot.waitUntil(lambda: dock.next_button.styleSheet() != "", timeout=10_000)
    assert dock.show_tab(FIT).panel.run_button.styleSheet() != ""
    assert isinstance(dock.next_button, QPushButton)


def test_what_no_list_has_is_named_in_the_open_tab(dock, viewer, qtbot, scene_capture):
    tab = dock.show_tab(OPEN)
    assert "start with a sample" in tab.status.text()
    put_layers(viewer, capture_layers(scene_capture))  # as a sample does
    qtbot.waitUntil(lambda: tab.status.text() == "Open: scene.", timeout=30_000)
    for name in ("scene left", "scene right"):
        viewer.layers.remove(name)
    qtbot.waitUntil(lambda: "start with a sample" in tab.status.text(), timeout=30_000)


def test_a_capture_of_another_size_fills_the_canvas(dock, viewer, qtbot, tmp_path, scene_capture):
    left, right = scene_capture.raw[:, 0]
    half = np.s_[: left.shape[0] // 2, : left.shape[1] // 2]
    for name, part in (("large", np.s_[:]), ("small", half)):
        write_pgm_pair(tmp_path, name, left[part], right[part], scene_capture.pixel_aspect)
    tab = dock.show_tab(OPEN)
    tab.add([tmp_path])
    qtbot.waitUntil(lambda: tab.list.count() == 2, timeout=PATIENCE_MS)
    zooms = {}
    for entry in tab.listing.entries:
        tab.pick(entry)
        name = entry.name
        qtbot.waitUntil(lambda name=name: f"{name} is open" in tab.status.text(), timeout=30_000)
        zooms[name] = view_of(viewer).zoom
    assert zooms["small"] > 1.8 * zooms["large"]
