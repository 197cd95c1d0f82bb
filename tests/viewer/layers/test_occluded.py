"""What a live picture covers is hidden, and comes back."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Image

from napari_dpdeblur.viewer.layers.metadata import KEY, LayerInfo
from napari_dpdeblur.viewer.layers.occluded import OccludedLayers


def add(viewer, kind, shape=(24, 32), **look):
    known = {KEY: LayerInfo(kind, "scene")}
    layer = Image(np.zeros(shape, np.float32), name=kind, metadata=known, **look)
    viewer.layers.append(layer)
    return layer


@pytest.fixture
def scene(viewer_model):
    """Two covered layers, one that was hidden before, one that is larger, and the picture."""
    viewer = viewer_model
    add(viewer, "left")
    add(viewer, "small", (12, 16), scale=(2, 2), translate=(0.5, 0.5))
    add(viewer, "off", visible=False)
    add(viewer, "large", (48, 64))
    add(viewer, "picture")
    add(viewer, "above")
    viewer.layers.append(Image(np.zeros((24, 32)), name="of somebody else"))
    viewer.layers.move(len(viewer.layers) - 1, 0)
    return viewer


def visible(viewer):
    return {layer.name for layer in viewer.layers if layer.visible}


EVERYTHING = {"of somebody else", "left", "small", "large", "picture", "above"}
UNCOVERED = EVERYTHING - {"left", "small"}


def test_only_what_is_covered_is_hidden_and_comes_back(scene):
    covered = OccludedLayers(scene)
    covered.hide_below(scene.layers["picture"])
    assert visible(scene) == UNCOVERED
    covered.restore()
    assert visible(scene) == EVERYTHING


def test_whoever_hides_the_picture_sees_what_is_below(scene):
    covered = OccludedLayers(scene)
    covered.hide_below(scene.layers["picture"])
    scene.layers["picture"].visible = False
    assert visible(scene) == EVERYTHING - {"picture"}


def test_whoever_deletes_the_picture_sees_what_is_below(scene):
    covered = OccludedLayers(scene)
    covered.hide_below(scene.layers["picture"])
    del scene.layers["picture"]
    assert visible(scene) == EVERYTHING - {"picture"}


def test_a_second_picture_above_the_first(scene):
    covered = OccludedLayers(scene)
    covered.hide_below(scene.layers["picture"])
    covered.hide_below(scene.layers["above"])
    assert visible(scene) == UNCOVERED - {"picture"}
    covered.leave_out(scene.layers["picture"])
    covered.restore()
    assert visible(scene) == EVERYTHING - {"picture"}


def test_a_layer_that_was_deleted_meanwhile(scene):
    covered = OccludedLayers(scene)
    covered.hide_below(scene.layers["picture"])
    del scene.layers["left"]
    covered.restore()
    assert visible(scene) == EVERYTHING - {"left"}
