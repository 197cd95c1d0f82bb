"""What is in a viewer_model."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np

from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers
from napari_dpdeblur.viewer.layers.metadata import MPI


def test_an_empty_viewer_and_layers_of_others(viewer_model):
    viewer_model.add_image(np.zeros((4, 4)), metadata={"dpdeblur": "not ours"})
    assert queries.captures(viewer_model) == {}
    assert queries.calibrations(viewer_model) == {}
    assert queries.results(viewer_model) == {}


def test_everything_is_found_by_name(viewer_model, scene_capture, calibration, make_result):
    put_layers(viewer_model, capture_layers(scene_capture))
    put_layers(viewer_model, calibration_layers(calibration, "lens"))
    put_layers(viewer_model, run_layers(replace(make_result(), calibration=calibration)))
    assert queries.captures(viewer_model) == {"scene": scene_capture}
    assert queries.calibrations(viewer_model) == {"lens": calibration}
    assert list(queries.results(viewer_model)) == ["scene"]
    assert queries.groups(viewer_model) == ["scene", "lens"]


def test_two_captures_with_one_name_are_told_apart(viewer_model, scene_capture):
    other = dataclasses.replace(scene_capture)
    for capture in (scene_capture, other):
        for data, options, _ in capture_layers(capture):
            viewer_model.add_image(data, **options)
    assert queries.captures(viewer_model) == {"scene": scene_capture, "scene [1]": other}


def test_an_incomplete_result_is_not_listed(viewer_model, make_result):
    put_layers(viewer_model, run_layers(make_result()))
    viewer_model.layers.remove(queries.layer_of(viewer_model, "scene", MPI))
    assert queries.results(viewer_model) == {}
