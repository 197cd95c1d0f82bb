"""Whatever goes wrong in a fit: a plain message, and a widget that works again."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from fit_bench import ENDLESS, QUICK, FitBench

from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.viewer.fit.inputs import ESTIMATE
from napari_dpdeblur.viewer.open.fit_queue import fit_queue

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits the child by prlimit")
resource = pytest.importorskip("resource")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make_bench(viewer, qtbot):
    benches = []

    def make(capture, calibration):
        benches.append(FitBench(viewer, qtbot, capture, calibration))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


@pytest.fixture
def bench(make_bench, scene_capture, calibration):
    return make_bench(scene_capture, calibration)


def assert_usable(bench):
    """The same widget fits again."""
    assert not bench.worker.is_running
    assert bench.widget.panel.run_button.isEnabled()
    bench.run(QUICK)
    assert "scene all-in-focus" in bench.names


def test_a_killed_child(bench):
    child = bench.start(ENDLESS, "optimise")
    os.kill(child.pid, signal.SIGKILL)
    bench.until(lambda: not bench.worker.is_running)
    assert "The fit was terminated (SIGKILL)" in bench.messages[-1]
    bench.widget.panel.run_button.click()
    bench.until(lambda: "Resuming the interrupted fit of scene." in bench.messages)


@linux_only
def test_out_of_memory(bench):
    child = bench.start(ENDLESS, "optimise")
    size = child.memory_info().vms
    resource.prlimit(child.pid, resource.RLIMIT_AS, (size // 2, size // 2))
    bench.until(lambda: not bench.worker.is_running)
    assert "memory" in bench.messages[-1]
    assert_usable(bench)


def test_the_layers_of_the_capture_are_deleted(bench):
    bench.click_run(QUICK)
    bench.viewer.layers.remove("scene left")
    bench.viewer.layers.remove("scene right")
    text = "scene left and scene right were removed; the fit continues with a copy."
    bench.until(lambda: text in bench.messages)
    bench.finish()
    assert "scene all-in-focus" in bench.names
    bench.widget.panel.run_button.click()
    assert "No capture to fit" in bench.messages[-1]


def test_the_live_picture_is_deleted_and_a_second_fit_waits(bench, make_bench):
    bench.start(ENDLESS, "optimise")
    pid = bench.worker.pid
    bench.widget.run()
    assert bench.messages[-1] == "The fit of scene waits for 1 other."
    other = make_bench(None, None)
    other.click_run(QUICK)
    assert other.messages[-1] == "The fit of scene waits for 2 others."
    assert not other.worker.is_running
    for widget in (bench.widget, other.widget):
        fit_queue().forget(widget)
    assert bench.worker.pid == pid
    bench.until(lambda: "scene live image" in bench.names)
    bench.until(lambda: bench.viewer.layers["scene live image"].visible)  # it comes hidden
    bench.viewer.layers.remove("scene live image")
    for _ in range(2):  # more pictures come
        bench.qtbot.waitSignal(
            bench.worker.progressed,
            timeout=30_000,
            check_params_cb=lambda event: event.all_in_focus is not None,
        ).wait()
    bench.until(lambda: bench.viewer.layers["scene left"].visible)
    assert "scene live image" not in bench.names
    bench.widget.panel.cancel_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert_usable(bench)


def test_no_capture(make_bench):
    bench = make_bench(None, None)
    bench.widget.panel.run_button.click()
    assert bench.messages == ["No capture to fit: open both files of a capture, or its folder."]


def test_no_calibration(make_bench, scene_capture):
    bench = make_bench(scene_capture, None)
    assert bench.widget.inputs.calibrations.currentText() == ESTIMATE
    assert bench.widget.inputs.calibration is None
    assert "after the estimate of the lens" in bench.widget.estimate.text()


def test_a_calibration_of_another_camera(make_bench, scene_capture):
    bench = make_bench(scene_capture, synthetic_calibration(48, 64, 2, 3))
    assert bench.widget.inputs.calibration is None, "nothing fits: the lens would be estimated"
    bench.widget.inputs.calibrations.setCurrentIndex(1)
    bench.click_run(QUICK)
    bench.until(lambda: not bench.worker.is_running)
    assert "does not match the calibration of synthetic lens" in bench.messages[-1]
    assert bench.widget.panel.run_button.isEnabled()


@linux_only
def test_a_full_disk(bench, tmp_path):
    bench.widget.output.show_folder(str(tmp_path / "runs"))
    child = bench.start(QUICK, "loading")
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (1000, 1000))
    bench.finish()
    assert any("The result is shown but was not saved." in text for text in bench.messages)
    assert "scene all-in-focus" in bench.names
    assert not (tmp_path / "runs" / "scene-run").exists()
    bench.run(QUICK)
    assert (tmp_path / "runs" / "scene-run" / "run.yaml").exists()
    assert "Saved to" in bench.widget.panel.status.text()


def test_the_widget_is_closed(bench, make_bench, viewer, qtbot):
    child = bench.start(ENDLESS, "optimise")
    bench.until(lambda: {"scene live image", "scene live defocus map"} <= set(bench.names))
    viewer.window.remove_dock_widget(bench.dock)
    qtbot.waitUntil(lambda: not child.is_running(), timeout=60_000)
    assert {"scene partial all-in-focus", "scene partial defocus map"} <= set(bench.names)
    assert all(viewer.layers[name].visible for name in ("scene left", "scene right"))
    make_bench(None, None).run(QUICK)
