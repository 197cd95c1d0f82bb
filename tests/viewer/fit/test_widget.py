"""The Fit widget in a real window: choices, estimate, run, previews, pause, cancel."""

from __future__ import annotations

import dataclasses
import shlex
import time

import numpy as np
import pytest
from controls import assert_usable
from fit_bench import ENDLESS, QUICK, FitBench
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication, QWidget
from resting import assert_rests
from superqt import QCollapsible

from napari_dpdeblur.calibration import Field, save_calibration
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.device import available_devices
from napari_dpdeblur.jobs.fit_job import FitRequest
from napari_dpdeblur.jobs.fit_job import run as fit_job_steps
from napari_dpdeblur.jobs.messages import Progress
from napari_dpdeblur.viewer.fit.inputs import ESTIMATE
from napari_dpdeblur.viewer.fit.region import visible_region
from napari_dpdeblur.viewer.fit.widget import FitWidget
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.convert import DEFOCUS_UNIT
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.open.cameras import camera_of
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.settings_form import is_shown

SOON_S = 20  # one second on a quiet machine: benchmarks/heartbeat.py


@pytest.fixture
def bench(viewer, qtbot, scene_capture, calibration, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    made = FitBench(viewer, qtbot, scene_capture, calibration)
    yield made
    made.close()


def test_run_gives_the_result_as_layers_in_their_place(bench, scene_capture, calibration):
    bench.run(QUICK)
    assert bench.names[-4:] == [
        "scene all-in-focus",
        "scene defocus map",
        "scene confidence",
        "scene MPI",
    ]
    expected = fit(scene_capture, calibration, QUICK)
    image = bench.viewer.layers["scene all-in-focus"]
    np.testing.assert_allclose(image.data, expected.all_in_focus[0], atol=1e-5)
    np.testing.assert_allclose(
        bench.viewer.layers["scene defocus map"].data, expected.defocus_map, atol=1e-4
    )
    left = bench.viewer.layers["scene left"]
    np.testing.assert_allclose(image.extent.world, left.extent.world, atol=0.6)
    assert image.visible
    assert left.visible  # again, after the pictures of the fit
    assert not bench.viewer.layers["scene defocus map"].visible
    assert not bench.viewer.layers["scene MPI"].visible
    assert bench.viewer.layers.selection.active is image
    assert list(queries.results(bench.viewer)) == ["scene"]
    defocus_map = bench.viewer.layers["scene defocus map"]
    assert layer_info(defocus_map).unit == DEFOCUS_UNIT
    if hasattr(defocus_map, "colorbar"):  # napari 0.7 and newer
        assert not defocus_map.colorbar.visible
        defocus_map.visible = True
        assert defocus_map.colorbar.visible
        defocus_map.visible = False
    assert bench.widget.panel.run_button.isEnabled()
    assert_a_second_run_replaces_the_layers(bench)


def assert_a_second_run_replaces_the_layers(bench):
    names = bench.names
    before = bench.viewer.layers["scene MPI"].data.copy()
    bench.run(QUICK.changed(layers=6))
    assert bench.names == names
    assert bench.viewer.layers["scene MPI"].data.shape[0] == 6
    assert len(before) == 4


def test_one_fit_is_watched_paused_cancelled_and_goes_on(bench):
    """One after the other: each start of a fit loads torch in a new process."""
    child = bench.start(ENDLESS, "optimise")
    assert_pictures_and_losses_are_shown(bench)
    assert_pause_rests_and_resume_goes_on(bench, child)
    assert_cancel_is_quick_and_keeps_the_pictures(bench, child)
    bench.widget.panel.run_button.click()  # the same result in the end: tests/jobs/test_fit_job.py
    bench.until(lambda: "Resuming the interrupted fit of scene." in bench.messages)


def assert_pictures_and_losses_are_shown(bench):
    bench.until(lambda: {"scene live image", "scene live defocus map"} <= set(bench.names))
    bench.until(lambda: len(bench.widget.plot.values().get("data", [])) > 3)
    image = bench.viewer.layers["scene live image"]
    before = image.data.copy()
    bench.until(lambda: not np.array_equal(image.data, before))
    left = bench.viewer.layers["scene left"]
    np.testing.assert_allclose(image.extent.world, left.extent.world, atol=1.0)
    assert not left.visible  # the picture covers it
    bench.until(lambda: " left" in bench.widget.panel.status.text())


def assert_pause_rests_and_resume_goes_on(bench, child):
    bench.widget.panel.pause_button.click()
    assert_rests(child, bench.qtbot.wait)
    bench.widget.panel.pause_button.click()
    with bench.qtbot.waitSignal(bench.worker.progressed, timeout=30_000):
        pass


def assert_cancel_is_quick_and_keeps_the_pictures(bench, child):
    begin = time.monotonic()
    bench.qtbot.mouseClick(bench.widget.panel.cancel_button, Qt.MouseButton.LeftButton)
    bench.until(lambda: not bench.worker.is_running)
    assert time.monotonic() - begin < SOON_S
    assert {"scene partial all-in-focus", "scene partial defocus map"} <= set(bench.names)
    assert bench.viewer.layers["scene left"].visible
    assert "Fit cancelled at" in bench.messages[-1]
    bench.until(lambda: not child.is_running())
    assert bench.widget.panel.run_button.isEnabled()


def test_preview_at_low_resolution(bench):
    bench.widget.show_settings(QUICK)
    bench.widget.findChild(QWidget, "quick_whole").click()
    bench.finish()
    image = bench.viewer.layers["scene preview all-in-focus"]
    assert image.data.shape == (96, 128)
    np.testing.assert_allclose(
        image.extent.world, bench.viewer.layers["scene left"].extent.world, atol=1.0
    )


def test_preview_of_the_visible_region(bench):
    holder = getattr(bench.viewer, "scene", bench.viewer)  # since napari 0.9
    holder.camera.center = (48, 64)
    holder.camera.zoom = 12
    bench.qtbot.wait(100)
    top, left, height, width = visible_region(bench.viewer, "scene")
    assert height < 96
    bench.widget.show_settings(QUICK)
    bench.widget.findChild(QWidget, "quick_region").click()
    bench.finish()
    image = bench.viewer.layers["scene preview all-in-focus"]
    assert image.data.shape == (height, width)
    np.testing.assert_allclose(image.translate, (top, left))


def test_a_cancelled_quick_look_promises_no_checkpoint(bench):
    bench.widget.show_settings(QUICK)
    bench.widget.preview_whole()
    bench.widget.panel.cancel_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert bench.messages[-1].startswith("Fit cancelled at")
    assert "checkpoint" not in bench.messages[-1]


def test_the_result_comes_whatever_the_controls_say_meanwhile(bench):
    bench.click_run(QUICK)
    wrong = {"preset": "paper", "front_scale": 1.0, "back_scale": 0.5}
    bench.widget.main_form.value = wrong
    bench.finish()
    assert {"scene all-in-focus", "scene MPI"} <= set(bench.names)
    assert list(remembered.remembered("fit times")) == ["preview on auto"]


def test_a_fit_that_went_on_teaches_no_speed(bench, scene_capture, calibration):
    settings = FitSettings(layers=4, threads=1)
    request = FitRequest(scene_capture, calibration, settings, is_resumable=True)
    for message in fit_job_steps(request):
        if isinstance(message, Progress) and message.stage == "refine":
            break
    bench.run(settings)
    assert "Resuming the interrupted fit of scene." in bench.messages
    assert remembered.remembered("fit times") == {}


def test_settings_survive_the_controls(bench):
    wanted = FitSettings.of(
        {
            "preset": "paper",
            "layers": 7,
            "front_scale": 0.2,
            "back_scale": 1.5,
            "weights": {"entropy": 12.5},
            "guided_filter": True,
            "threads": 1,
            "steps": 77,
            "device": "cpu",
            "parameters": {"wiener": {"noise_to_signal": 0.02}},
        }
    )
    bench.widget.show_settings(wanted)
    assert bench.widget.settings() == wanted
    bench.widget.show_defaults()
    assert bench.widget.settings() == FitSettings()


def test_every_setting_has_a_control(bench):
    assert set(bench.widget.settings().model_dump()) == set(FitSettings.model_fields)
    shown = {**bench.widget.main_form.value, **bench.widget.other_form.value}
    fields = {name for name, field in FitSettings.model_fields.items() if is_shown(field)}
    assert set(shown) == fields - {"device"}


def test_only_settings_that_the_preset_uses_are_shown(bench):
    bench.widget.findChild(QCollapsible, "more_settings").expand(animate=False)
    blend, steps = (
        bench.widget.findChild(QWidget, f"setting_{name}") for name in ("blend_px", "steps")
    )
    for preset, expected in (("standard", (True, False)), ("paper", (False, True))):
        bench.widget.findChild(QWidget, "setting_preset").setCurrentText(preset)
        bench.qtbot.wait(20)
        assert (blend.isVisible(), steps.isVisible()) == expected
    steps.setValue(77)
    assert bench.widget.settings().steps == 77
    assert bench.widget.settings("standard") == FitSettings()


def test_settings_are_remembered(bench, viewer, tmp_path, calibration):
    path = tmp_path / "lens.dpcal"
    save_calibration(calibration, path)
    bench.widget.show_settings(QUICK)
    bench.widget.inputs.use_file(path)
    bench.until(lambda: remembered.remembered("fit").get("calibration") == str(path))
    again = FitWidget(viewer)
    assert again.settings() == QUICK
    listed = again.inputs.calibrations
    assert path in [listed.itemData(index) for index in range(listed.count())]
    again.deleteLater()


def test_damaged_memory_gives_the_defaults(bench, viewer):
    damaged = {"settings": {"layers": -3}, "calibration": 5, "output": None}
    remembered.remember("fit", damaged)
    remembered.remember("cameras", {camera_of(bench.widget.inputs.capture): damaged})
    again = FitWidget(viewer)
    assert again.settings() == FitSettings()
    again.deleteLater()


def test_wrong_settings_are_explained(bench):
    bench.widget.main_form.value = {"front_scale": 1.0, "back_scale": 0.5}
    bench.widget.panel.run_button.click()
    assert "must be smaller than the back scale" in bench.messages[-1]
    assert not bench.worker.is_running


def test_the_estimate_follows_the_choices(bench):
    texts = []
    for layers in (4, 64):
        bench.widget.show_settings(FitSettings(preset="paper", layers=layers))
        bench.widget.settle()
        texts.append(bench.widget.estimate.text())
    assert texts[0] != texts[1]
    assert texts[0].startswith("128 x 96 px: about")
    assert "GB of memory" in texts[0]


def test_the_command_line_does_the_same(bench, capture_files, viewer):
    from napari_dpdeblur.capture import open_capture
    from napari_dpdeblur.cli.main import build_parser
    from napari_dpdeblur.viewer.layers.add import put_layers
    from napari_dpdeblur.viewer.layers.convert import capture_layers

    put_layers(viewer, capture_layers(open_capture(*capture_files), "from files"))
    bench.widget.inputs.captures.setCurrentText("from files")
    bench.widget.show_settings(FitSettings(preset="preview", layers=5))
    bench.widget.copy_command()
    words = shlex.split(QApplication.clipboard().text())
    arguments = build_parser().parse_args(words[1:])
    assert [str(path) for path in arguments.capture] == [str(path) for path in capture_files]
    assert (arguments.preset, arguments.layers) == ("preview", 5)
    bench.widget.show_settings(QUICK)
    bench.widget.copy_command()
    assert "--settings fit.yaml" in QApplication.clipboard().text()
    assert "fit.yaml" in bench.messages[-1]
    bench.widget.copy_yaml()
    assert FitSettings.from_yaml(QApplication.clipboard().text()) == QUICK


def test_the_command_line_fits_the_same_region_with_a_file(bench, calibration, tmp_path):
    from napari_dpdeblur.cli.main import build_parser

    inner = dataclasses.replace(calibration, field=Field(8, 16, 80, 100))
    save_calibration(inner, tmp_path / "lens.dpcal")
    bench.widget.inputs.use_file(tmp_path / "lens.dpcal")
    bench.widget.visible_only.setChecked(True)
    bench.widget.visible_part = lambda: (20, 0, 40, 60)
    bench.widget.copy_command()
    words = shlex.split(QApplication.clipboard().text())
    assert tuple(build_parser().parse_args(words[1:]).crop) == (12, 0, 40, 44)
    (tmp_path / "lens.dpcal").unlink()
    bench.widget.copy_command()
    assert "does not exist" in bench.messages[-1]


def test_only_devices_that_work_are_listed(bench):
    devices = bench.widget.devices
    bench.until(lambda: "thread" in devices.itemText(0))
    listed = [devices.itemData(index) for index in range(devices.count())]
    assert listed == ["auto", *available_devices()]


def test_a_matching_calibration_is_chosen(bench, viewer, calibration):
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
    from napari_dpdeblur.viewer.layers.add import put_layers
    from napari_dpdeblur.viewer.layers.calibration import calibration_layers

    put_layers(viewer, calibration_layers(synthetic_calibration(48, 64, 2, 3), "other"))
    inputs = bench.widget.inputs
    offered = [inputs.calibrations.itemText(i) for i in range(inputs.calibrations.count())]
    assert offered == [ESTIMATE, "synthetic lens", "other"]
    assert inputs.calibration is calibration


def test_the_choice_to_estimate_is_kept(bench, viewer, calibration):
    inputs = bench.widget.inputs
    inputs.calibrations.setCurrentIndex(0)
    inputs.calibrations.activated.emit(0)
    inputs.refresh()
    assert inputs.calibration is None
    assert inputs.estimates_lens


def test_a_file_of_another_camera_is_not_chosen(bench, tmp_path, viewer):
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    viewer.layers.remove(viewer.layers["synthetic lens kernels"])
    other, same, damaged = (tmp_path / f"{name}.dpcal" for name in ("other", "same", "damaged"))
    save_calibration(synthetic_calibration(48, 64, 2, 3), other)
    save_calibration(synthetic_calibration(96, 128, 2, 3), same)
    damaged.write_text("nothing")
    bench.widget.inputs.offer_file(other)
    assert bench.widget.inputs.calibration is None
    bench.widget.inputs.offer_file(same)
    assert bench.widget.inputs.calibration == same
    bench.widget.inputs.offer_file(damaged)
    assert bench.widget.inputs.calibration is None


def test_the_panel_fits_a_small_laptop(bench, viewer):
    bench.widget.findChild(QCollapsible, "more_settings").expand(animate=False)
    bench.qtbot.wait(100)
    window = viewer.window._qt_window
    assert window.width() <= 1366
    assert window.height() <= 768
    assert bench.dock.width() <= 400
    scroll = bench.widget.findChild(QWidget, "scroll")
    assert scroll.widget().width() <= scroll.viewport().width()
    assert bench.widget.panel.run_button.isVisible()


def test_every_control_has_a_tooltip_a_name_and_the_keyboard(bench):
    assert_usable(bench.widget, at_least=15)
