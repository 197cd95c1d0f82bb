"""What is in a viewer."""

from __future__ import annotations

import dataclasses

import numpy as np

from napari_dpdeblur.viewer import find
from napari_dpdeblur.viewer.calibration_layers import calibration_layers
from napari_dpdeblur.viewer.layers import MPI, capture_layers, run_layers
from napari_dpdeblur.viewer.show import put_layers


def test_an_empty_viewer_and_layers_of_others(viewer):
    viewer.add_image(np.zeros((4, 4)), metadata={"dpdeblur": "not ours"})
    assert find.captures(viewer) == {}
    assert find.calibrations(viewer) == {}
    assert find.runs(viewer) == {}
    assert find.selected_group(viewer) is None


def test_everything_is_found_by_name(viewer, scene_capture, calibration, make_record):
    put_layers(viewer, capture_layers(scene_capture))
    put_layers(viewer, calibration_layers(calibration, "lens"))
    put_layers(viewer, run_layers(make_record(), calibration=calibration))
    assert find.captures(viewer) == {"scene": scene_capture}
    assert find.calibrations(viewer) == {"lens": calibration}
    assert list(find.runs(viewer)) == ["scene"]
    assert find.groups(viewer) == ["scene", "lens"]


def test_two_captures_with_one_name_are_told_apart(viewer, scene_capture):
    other = dataclasses.replace(scene_capture)
    for capture in (scene_capture, other):
        for data, options, _ in capture_layers(capture):
            viewer.add_image(data, **options)
    assert find.captures(viewer) == {"scene": scene_capture, "scene [1]": other}


def test_an_incomplete_result_is_not_listed(viewer, make_record):
    put_layers(viewer, run_layers(make_record()))
    viewer.layers.remove(find.layer_of(viewer, "scene", MPI))
    assert find.runs(viewer) == {}


def test_the_active_layer_chooses_the_group(viewer, scene_capture, calibration):
    put_layers(viewer, capture_layers(scene_capture))
    lens = put_layers(viewer, calibration_layers(calibration, "lens"))
    viewer.layers.selection.active = lens[0]
    assert find.selected_group(viewer) == "lens"
    viewer.layers.selection.clear()
    assert find.selected_group(viewer) is None


def test_changes_are_reported(viewer, scene_capture):
    seen = []
    find.on_change(viewer, lambda: seen.append(len(viewer.layers)))
    put_layers(viewer, capture_layers(scene_capture))
    viewer.layers.clear()
    assert seen[:2] == [1, 2]
    assert seen[-1] == 0
