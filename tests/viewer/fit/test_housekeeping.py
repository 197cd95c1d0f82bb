"""What a fit does to the layer list and to the view, in a real window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fit_bench import QUICK, FitBench
from qtpy.QtWidgets import QLabel, QWidget

from napari_dpdeblur.calibration import Field
from napari_dpdeblur.viewer.fit.loss_plot import LossPlot
from napari_dpdeblur.viewer.fit.previews import PreviewLayers
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.camera import camera_of
from napari_dpdeblur.viewer.layers.convert import capture_layers, hidden, run_layers


@pytest.fixture
def make_bench(viewer, qtbot, scene_capture, calibration, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    made = []

    def make(**changed):
        lens = replace(calibration, **changed)
        made.append(FitBench(viewer, qtbot, scene_capture, lens))
        return made[0]

    yield make
    for bench in made:
        bench.close()


def finish(bench, result, group="scene"):
    """As if a fit had ended with this result."""
    bench.widget._group = group
    bench.widget._previews = PreviewLayers(bench.viewer, group, bench.widget._tasks)
    bench.widget.panel.say("")
    bench.worker.finished.emit((result, run_layers(result, group)))
    bench.until(lambda: bench.widget.panel.status.text().startswith("Done"))
    bench.until(lambda: not bench.widget._tasks.is_busy)


def test_the_first_result_keeps_the_zoom_and_the_field_is_outlined(make_bench):
    """On the old code the multiplane image reset the view, and nothing showed the field."""
    bench = make_bench(field=Field(16, 24, 64, 80), vignetting=None)
    camera = camera_of(bench.viewer)
    bench.qtbot.wait(500)  # napari 0.5 changes the zoom with the size of the canvas
    camera.zoom, camera.center = 9.0, (0.0, 40.0, 50.0)
    bench.run(QUICK)
    assert camera.zoom == pytest.approx(9.0, rel=0.05)
    assert camera.center[-2:] == pytest.approx((40.0, 50.0))
    outline = bench.viewer.layers["scene calibrated field"]
    assert outline.visible
    first, last = np.asarray(outline.extent.world)[:, -2:]
    np.testing.assert_allclose(first, (16, 24), atol=2)
    np.testing.assert_allclose(last, (80, 104), atol=2)
    assert "the calibrated field" in bench.widget.estimate.text()
    bench.widget.findChild(QWidget, "zoom_to_result").click()
    assert camera.center[-2:] == pytest.approx((47.5, 63.5), abs=1)
    image = bench.viewer.layers["scene all-in-focus"]
    bench.until(lambda: (np.asarray(image.corner_pixels)[1, -2:] >= (62, 78)).all())
    assert np.asarray(image.corner_pixels)[0, -2:].max() <= 1


def test_quick_looks_and_partial_results_make_way_and_can_come_back(make_bench, make_result):
    bench = make_bench()
    finish(bench, make_result(), "scene preview")
    assert "scene preview MPI" in bench.names
    put_layers(bench.viewer, [partial_layer(make_result)])
    finish(bench, make_result(layers=5))
    assert not [name for name in bench.names if "preview" in name or "partial" in name]
    undo = bench.widget.notes.undo
    assert undo.isVisible()
    assert undo.text() == "Bring back 5 replaced layers"
    undo.click()
    bench.until(lambda: not bench.widget._tasks.is_busy)
    back = [layer for layer in bench.viewer.layers if "preview" in layer.name]
    assert len(back) == 4
    assert "scene partial all-in-focus" in bench.names
    assert not any(layer.visible for layer in back)
    assert not undo.isVisible()


def partial_layer(make_result):
    layer = run_layers(make_result())[0]
    info = layer[1]["metadata"]["dpdeblur"]
    name = "scene partial all-in-focus"
    kept = {"dpdeblur": replace(info, kind="partial all-in-focus")}
    return layer[0], {**layer[1], "name": name, "metadata": kept}, layer[2]


def test_a_result_comes_with_its_group_on_top_in_order(make_bench, make_result, scene_capture):
    bench = make_bench()
    put_layers(bench.viewer, [hidden(p) for p in capture_layers(scene_capture, "other")])
    finish(bench, make_result())
    assert bench.names[-8:] == [
        "other right",
        "other left",
        "scene right",
        "scene left",
        "scene all-in-focus",
        "scene defocus map",
        "scene confidence",
        "scene MPI",
    ]


def test_done_goes_with_the_layers(make_bench, make_result):
    bench = make_bench()
    result = make_result()
    judged = {**result.provenance, "fit_verdict": {"verdict": "good", "causes": []}}
    finish(bench, replace(result, provenance=judged))
    assert bench.widget.notes.isVisible()
    for name in ("MPI", "confidence", "defocus map", "all-in-focus"):
        assert bench.widget.panel.status.text().startswith("Done")
        layer = bench.viewer.layers[f"scene {name}"]
        layer.visible = True
        bench.viewer.layers.remove(layer)
    bench.until(lambda: bench.widget.panel.status.text() == "")
    assert bench.widget.panel.bar.value() <= 0
    assert not bench.widget.notes.isVisible()


def test_the_names_of_the_curves_cover_none_and_follow_the_theme(qtbot):
    plot = LossPlot()
    qtbot.addWidget(plot)
    for step in range(5):
        plot.add({"data": 1.0 / (step + 1), "entropy": 0.5})
    plot.draw()
    assert plot.plot.getPlotItem().legend is None
    legend = plot.findChild(QLabel, "loss_legend")
    assert "data" in legend.text()
    assert "entropy" in legend.text()
    assert not legend.geometry().intersects(plot.plot.geometry())
    plot.start()
    assert legend.text() == ""


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_names_of_the_curves_can_be_read_in_every_theme(viewer, qtbot, theme):
    """On the old code they stayed dark."""
    before, viewer.theme = viewer.theme, theme
    try:
        plot = LossPlot()
        viewer.window.add_dock_widget(plot, name="Losses", area="right")
        for step in range(5):
            plot.add({"data": 1.0 / (step + 1)})
        plot.draw()
        qtbot.waitUntil(plot.legend.isVisible, timeout=10_000)
        qtbot.wait(200)
        grey = brightness(plot.legend)
        background = np.median(grey)
        assert np.abs(grey - background).max() > 90
        assert (background > 128) == (theme == "light")
    finally:
        viewer.theme = before


def brightness(widget):
    image = widget.grab().toImage()
    sizes = range(image.height()), range(image.width())
    return np.array([[image.pixelColor(x, y).lightness() for x in sizes[1]] for y in sizes[0]])
