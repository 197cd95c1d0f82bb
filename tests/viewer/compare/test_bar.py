"""Before and after, in a real window."""

from __future__ import annotations

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QWidget

from napari_dpdeblur.viewer.compare.bar import CompareBar
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.camera import camera_of, grid_of
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers

PATIENCE_MS = 60_000


@pytest.fixture
def bar(viewer, qtbot, scene_capture, make_result):
    put_layers(viewer, capture_layers(scene_capture))
    made = CompareBar(viewer)
    viewer.window.add_dock_widget(made, name="Compare", area="right")
    made.set_group("scene")
    assert not made.swipe.isEnabled()
    assert "There is no result yet." in made.swipe.toolTip()
    put_layers(viewer, run_layers(make_result(crop=[20, 30, 60, 80])))
    assert made.swipe.isEnabled()
    yield made
    made.stop()


def click(bar, qtbot, name):
    qtbot.mouseClick(bar.findChild(QWidget, name), Qt.MouseButton.LeftButton)


def before(viewer, qtbot):
    qtbot.waitUntil(lambda: "scene before" in viewer.layers, timeout=PATIENCE_MS)
    return viewer.layers["scene before"]


def columns(layer):
    return layer.data.shape[1]


def test_swiping_and_flipping(viewer, bar, qtbot, scene_capture):
    names = [layer.name for layer in viewer.layers]
    click(bar, qtbot, "show_before")
    layer = before(viewer, qtbot)
    qtbot.waitUntil(lambda: layer.visible, timeout=PATIENCE_MS)
    expected = scene_capture.views.mean(axis=0)[0, 10:40, 30:110]
    np.testing.assert_allclose(layer.data, expected, atol=1e-6)
    result = viewer.layers["scene all-in-focus"]
    np.testing.assert_allclose(layer.extent.world, result.extent.world, atol=1.1)
    assert viewer.layers.selection.active is not layer
    bar.swipe.setValue(25)
    assert columns(layer) == 20
    click(bar, qtbot, "show_after")
    assert not layer.visible
    assert bar.swipe.value() == 0
    bar.swipe.setValue(50)
    assert layer.visible
    assert columns(layer) == 40
    result.visible = False
    viewer.add_image(np.zeros((5, 5)), name="on top")
    bar.swipe.setValue(60)
    assert viewer.layers[-1] is layer
    assert result.visible
    viewer.layers.remove(layer)
    assert bar.swipe.value() == 0
    assert [layer.name for layer in viewer.layers] == [*names, "on top"]


def test_side_by_side_and_back(viewer, bar, qtbot):
    camera = camera_of(viewer)
    camera.zoom, camera.center = 5.0, (0.0, 45.0, 60.0)
    visible = [layer.name for layer in viewer.layers if layer.visible]
    click(bar, qtbot, "side_by_side")
    layer = before(viewer, qtbot)
    qtbot.waitUntil(lambda: grid_of(viewer).enabled, timeout=PATIENCE_MS)
    shown = {each.name for each in viewer.layers if each.visible}
    assert shown == {"scene before", "scene all-in-focus"}
    assert tuple(grid_of(viewer).shape) == (1, 2)
    assert abs(viewer.layers.index(layer) - viewer.layers.index("scene all-in-focus")) == 1
    click(bar, qtbot, "side_by_side")
    assert not grid_of(viewer).enabled
    assert [each.name for each in viewer.layers if each.visible] == visible
    assert camera.zoom == pytest.approx(5.0)
    click(bar, qtbot, "side_by_side")
    assert grid_of(viewer).enabled
    grid_of(viewer).enabled = False  # napari's own button
    assert not bar.sides.isChecked()
    assert [each.name for each in viewer.layers if each.visible] == visible


def test_without_the_views_it_says_so(viewer, bar):
    for name in ("scene left", "scene right"):
        viewer.layers.remove(name)
    assert not bar.swipe.isEnabled()
    assert "The views of this result are not open." in bar.swipe.toolTip()
    assert bar.zoom.isEnabled()
    for layer in viewer.layers:  # napari 0.9 may crash when hidden ones are removed: docs/plugin.md
        layer.visible = True
