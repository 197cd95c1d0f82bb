"""Previews of a running fit."""

from __future__ import annotations

import numpy as np
import pytest
from qtpy.QtWidgets import QWidget

from napari_dpdeblur.jobs.messages import Progress
from napari_dpdeblur.viewer.fit.previews import PreviewLayers
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue

NAME = "scene live defocus map"


def test_the_live_map_gets_diverging_colours_when_the_front_appears(viewer_model, qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    previews = PreviewLayers(viewer_model, "scene", GuiTaskQueue(owner))
    behind = np.tile(np.linspace(0.2, 1.0, 50, dtype=np.float32), (40, 1))

    def show(defocus_map):
        previews._next_s = 0.0  # as if the window had rested
        place = {"place": (0, 0, 40, 50)}
        previews.update(Progress("map", 1, 2, 0.5, defocus_map=defocus_map, found=place))

    show(behind)
    qtbot.waitUntil(lambda: NAME in viewer_model.layers and viewer_model.layers[NAME].visible)
    layer = viewer_model.layers[NAME]
    assert layer.colormap.name == "viridis"
    show(behind - 0.7)
    assert layer.colormap.name == "front-focus-behind"
    assert layer.contrast_limits == pytest.approx([-0.5, 0.5])
    show(behind)
    assert layer.colormap.name == "viridis"
    assert layer.contrast_limits == pytest.approx([0.2, 1.0])


def test_a_live_picture_may_become_coloured_and_grey_again(viewer_model, qtbot):
    """On the old code napari failed when the data of a grey layer got colours, or lost them."""
    owner = QWidget()
    qtbot.addWidget(owner)
    previews = PreviewLayers(viewer_model, "scene", GuiTaskQueue(owner))
    name = "scene live image"
    grey = np.full((40, 50), 0.3, np.float32)
    coloured = np.stack([grey, 0.5 * grey, 0.1 * grey], axis=-1)

    def show(picture):
        previews._next_s = 0.0
        place = {"place": (0, 0, 40, 50)}
        previews.update(Progress("image", 1, 2, 0.5, all_in_focus=picture, found=place))
        qtbot.waitUntil(lambda: name in viewer_model.layers and viewer_model.layers[name].visible)
        return viewer_model.layers[name]

    assert show(grey).data.shape == (40, 50)
    assert show(coloured).data.shape == (40, 50, 3)
    layer = show(grey)
    assert layer.data.shape == (40, 50, 3)
    assert np.ptp(layer.data[20, 20]) == 0
    assert [each.name for each in viewer_model.layers] == [name]


def test_a_coloured_result_replaces_grey_pictures(viewer_model, make_result):
    put_layers(viewer_model, run_layers(make_result()))
    put_layers(viewer_model, run_layers(make_result(channels=3)))
    names = [layer.name for layer in viewer_model.layers]
    assert sorted(names) == sorted(set(names))
    assert viewer_model.layers["scene all-in-focus"].rgb
