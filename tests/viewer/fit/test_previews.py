"""Previews of a running fit."""

from __future__ import annotations

import numpy as np
import pytest
from qtpy.QtWidgets import QWidget

from napari_dpdeblur.jobs.messages import Progress
from napari_dpdeblur.viewer.fit.previews import PreviewLayers
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
