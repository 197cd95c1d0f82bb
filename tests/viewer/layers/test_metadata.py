"""LayerInfo: one reader and one writer; whatever is not ours is left alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from napari.layers import Image

from napari_dpdeblur.viewer.layers.metadata import (
    KEY,
    LayerInfo,
    kind_of,
    layer_info,
    set_layer_info,
)


def test_what_is_written_is_read():
    info = LayerInfo("confidence", "scene")
    layer = Image(np.zeros((4, 4)), metadata={"other plugin": 1})
    set_layer_info(layer, info)
    assert layer_info(layer) is info
    assert kind_of(layer) == "confidence"
    assert layer.metadata["other plugin"] == 1
    data = (layer.data, {"name": "a"}, "image")
    set_layer_info(data, info)
    assert layer_info(data) is info


@pytest.mark.parametrize("foreign", [None, "text", 3, {"kind": "confidence", "group": "scene"}])
def test_what_is_not_ours_is_passed_over(foreign):
    layer = Image(np.zeros((4, 4)), metadata={KEY: foreign})
    assert layer_info(layer) is None
    assert kind_of(layer) == ""
    assert layer_info((layer.data, {}, "image")) is None


def test_copies_keep_the_information(make_result):
    info = LayerInfo("mpi", "scene", mpi=make_result().mpi)
    for again in (copy.deepcopy(info), pickle.loads(pickle.dumps(info))):
        assert (again.kind, again.group) == ("mpi", "scene")
        np.testing.assert_array_equal(again.mpi.alpha, info.mpi.alpha)
