"""Which result is inspected, how its layers are shown and read, and what comes after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QLabel, QTabWidget

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.viewer.inspect.layers_panel import PREPARING
from napari_dpdeblur.viewer.inspect.widget import InspectWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.browse import SETTLE_S
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.layers.units import blur_width_px

PATIENCE_MS = 60_000
LENS = (2.0, -1.0)  # d = 2 - 1 / Z


@pytest.fixture
def result(make_result, calibration):
    """A wall behind the focus, and a square in front of it."""
    alpha = np.zeros((2, 1, 96, 128), np.float32)
    alpha[0] = 1
    alpha[1, 0, 20:70, 30:90] = 1
    color = np.random.default_rng(3).uniform(0.1, 0.5, alpha.shape).astype(np.float32)
    mpi = MultiplaneImage(color, alpha, np.array([0.8, -0.4]))
    lens = replace(calibration, lens_constants=LENS)
    images = {"all_in_focus": mpi.all_in_focus(), "defocus_map": mpi.defocus_map()}
    return replace(make_result(layers=2), mpi=mpi, calibration=lens, **images)


@pytest.fixture
def inspect(viewer_model, qtbot):
    opened = []

    def make():
        opened.append(InspectWidget(viewer_model))
        qtbot.addWidget(opened[-1])
        return opened[-1]

    yield make
    for widget in opened:
        widget.close_down()


def hover(viewer, row, col):
    viewer.cursor.position = (0.0, row, col)
    for callback in viewer.mouse_move_callbacks:
        callback(viewer, None)


def test_the_full_result_is_inspected_not_the_quick_look(viewer_model, result, inspect):
    put_layers(viewer_model, run_layers(result, "scene preview"))
    put_layers(viewer_model, run_layers(result))
    viewer_model.layers.selection.active = viewer_model.layers["scene all-in-focus"]
    widget = inspect()
    assert widget.source.group == "scene"
    viewer_model.layers.selection.active = viewer_model.layers["scene preview defocus map"]
    assert widget.source.group == "scene preview"


def test_a_newer_result_replaces_a_quick_look_but_not_the_reverse(viewer_model, result, inspect):
    put_layers(viewer_model, run_layers(result, "scene preview"))
    widget = inspect()
    assert widget.source.group == "scene preview"
    put_layers(viewer_model, run_layers(result))
    assert widget.source.group == "scene"
    viewer_model.layers.selection.clear()
    viewer_model.layers.remove("scene preview MPI")
    put_layers(viewer_model, run_layers(result, "other preview")[3:])
    viewer_model.layers.selection.active = viewer_model.layers["scene MPI"]
    assert widget.source.group == "scene"


def test_behind_another_tab_it_leaves_the_canvas_alone(viewer, result, qtbot):
    put_layers(viewer, run_layers(result))
    tabs = QTabWidget()
    other, widget = QLabel("other"), InspectWidget(viewer)
    tabs.addTab(other, "Other")
    tabs.addTab(widget, "Inspect")
    viewer.window.add_dock_widget(tabs, name="Tabs", area="right")

    def visible():
        return [layer.name for layer in viewer.layers if layer.visible]

    try:
        qtbot.waitUntil(lambda: visible() == ["scene all-in-focus"], timeout=PATIENCE_MS)
        put_layers(viewer, run_layers(result, "newer"))
        assert "newer all-in-focus" in visible()
        tabs.setCurrentWidget(widget)
        qtbot.waitUntil(lambda: visible() == ["newer MPI"], timeout=PATIENCE_MS)
        tabs.setCurrentWidget(other)
        assert visible() == ["scene all-in-focus", "newer all-in-focus"]
    finally:
        widget.close_down()
        for layer in viewer.layers:
            layer.visible = True


def test_moving_the_slider_shows_the_hidden_layers(viewer_model, result, qtbot):
    """On the old code it had no visible effect until Inspect was opened."""
    put_layers(viewer_model, run_layers(result))
    layers = viewer_model.layers
    assert [layer.name for layer in layers if layer.visible] == ["scene all-in-focus"]
    qtbot.wait(round(1500 * SETTLE_S))
    viewer_model.dims.set_current_step(0, 1)
    viewer_model.dims.set_current_step(0, 0)
    assert [layer.name for layer in layers if layer.visible] == ["scene MPI"]
    layers["scene MPI"].visible = False
    assert [layer.name for layer in layers if layer.visible] == ["scene all-in-focus"]


def test_the_panel_counts_as_the_slider_does(viewer_model, result, inspect):
    put_layers(viewer_model, run_layers(result))
    widget = inspect()
    viewer_model.dims.set_current_step(0, 1)
    step = viewer_model.dims.current_step[0]
    assert widget.layers_panel.text.text().startswith(f"Layer {step} (0 is the farthest, 1 the")
    hover(viewer_model, 40, 50)
    assert f"mostly layer {step}" in widget.reading.text()


def test_one_layer_with_the_rest_dimmed(viewer_model, result, inspect, qtbot):
    put_layers(viewer_model, run_layers(result))
    widget = inspect()
    widget.layers_panel.channel.setCurrentText("Rest dimmed")
    assert widget.layers_panel.text.text().endswith(PREPARING)
    name = "scene MPI rest dimmed"
    qtbot.waitUntil(lambda: name in viewer_model.layers, timeout=PATIENCE_MS)
    assert PREPARING not in widget.layers_panel.text.text()
    back, front = viewer_model.layers[name].data
    sharp = result.all_in_focus[0]
    inside, outside = np.s_[30:60, 40:80], np.s_[:15, :25]
    np.testing.assert_allclose(front[inside], sharp[inside], rtol=1e-5)
    assert front[outside].mean() < 0.2 * sharp[outside].mean()
    np.testing.assert_allclose(back[outside], sharp[outside], rtol=1e-5)
    assert back[inside].mean() < 0.2 * sharp[inside].mean()


def test_all_layers_coloured_by_depth(viewer_model, result, inspect, qtbot):
    put_layers(viewer_model, run_layers(result))
    widget = inspect()
    widget.layers_panel.channel.setCurrentText("All, coloured by depth")
    name = "scene MPI all, coloured by depth"
    qtbot.waitUntil(lambda: name in viewer_model.layers, timeout=PATIENCE_MS)
    picture = viewer_model.layers[name].data.astype(int)
    assert picture.shape == (96, 128, 3)
    front, back = picture[30:60, 40:80].mean((0, 1)), picture[:15, :25].mean((0, 1))
    assert front[0] > front[2] + 20  # warm in front of the focus, blue behind it
    assert back[2] > back[0] + 20
    assert not widget.layers_panel.slider.isEnabled()
    assert widget.layers_panel.text.text() == "All 2 layers"
    widget.layers_panel.channel.setCurrentIndex(0)
    assert widget.layers_panel.text.text().startswith("Layer ")
    assert widget.layers_panel.slider.isEnabled()


def test_read_out_and_bar_in_the_chosen_unit(viewer_model, result, inspect):
    put_layers(viewer_model, run_layers(result))
    widget = inspect()
    width = blur_width_px(result.calibration)
    unit = widget.read_out.unit
    expected = {
        "Defocus scale": ("Defocus 0.80 behind, distance 0.833 m", "0.80 in front", "focus"),
        "Blur (px)": (
            f"Blur {0.8 * width:.1f} px behind, distance 0.833 m",
            f"{0.8 * width:.1f} px in front",
            "focus",
        ),
        "Distance (m)": ("Distance 0.833 m, behind the focus plane", "0.357 m", "focus 0.5 m"),
    }
    for name, (text, front, focus) in expected.items():
        unit.setCurrentText(name)
        unit.activated.emit(unit.currentIndex())
        hover(viewer_model, 5, 5)
        assert widget.reading.text().splitlines()[0] == text
        assert widget.bar.labels()[0] == front
        assert widget.bar.focus_label == focus
    assert widget.layers_panel.text.text().splitlines()[1].startswith("Distance")
    assert widget.bar.position_px(0.0) is not None
    again = inspect()
    assert again.read_out.unit.currentText() == "Distance (m)"


def test_units_that_are_not_known_are_not_offered(viewer_model, result, inspect):
    put_layers(viewer_model, run_layers(replace(result, calibration=None)))
    widget = inspect()
    model = widget.read_out.unit.model()
    assert [model.item(i).isEnabled() for i in range(3)] == [True, False, False]
    assert widget.read_out.unit.currentText() == "Defocus scale"


def test_the_blur_of_the_kernels_is_that_of_the_equivalent_disc(calibration):
    from napari_dpdeblur.results.refocus.aperture import equivalent_radius_px

    expected = 2 * equivalent_radius_px(calibration)
    assert blur_width_px(calibration) == pytest.approx(expected, rel=0.02)


def test_the_read_out_counts_as_the_status_bar_does(viewer_model, make_result, inspect):
    put_layers(viewer_model, run_layers(make_result(crop=[20, 30, 60, 80])))
    widget = inspect()
    hover(viewer_model, 25, 50)
    assert "Row 25, column 50," in widget.reading.text()


def test_the_verdict_of_the_result_is_shown(viewer_model, result, inspect):
    verdict = {"verdict": "doubtful", "causes": ["Use another calibration."]}
    judged = replace(result, provenance={**result.provenance, "fit_verdict": verdict})
    put_layers(viewer_model, run_layers(judged))
    widget = inspect()
    assert not widget.verdict.isHidden()
    assert "Do not trust this fit." in widget.verdict.text()
    assert "Use another calibration." in widget.verdict.text()


def test_closing_3d_selects_what_was_selected(viewer, result, qtbot):
    put_layers(viewer, run_layers(result))
    widget = InspectWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Inspect", area="right")
    chosen = viewer.layers["scene defocus map"]
    viewer.layers.selection = {chosen}
    try:
        widget.tabs.setCurrentWidget(widget.depth_panel)
        qtbot.wait(400)
        qtbot.mouseClick(widget.depth_panel.toggle, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: viewer.dims.ndisplay == 3, timeout=PATIENCE_MS)
        qtbot.mouseClick(widget.depth_panel.toggle, Qt.MouseButton.LeftButton)
        assert viewer.dims.ndisplay == 2
        assert set(viewer.layers.selection) == {chosen}
    finally:
        widget.close_down()
