"""The field for a photo in the Fit panel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from napari.layers import Layer
from photo_scene import as_capture

from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.viewer.fit.command import fit_command
from napari_dpdeblur.viewer.fit.photo import PhotoInput
from napari_dpdeblur.viewer.layers.convert import overlap_layer, result_of_layers, run_layers


def _capture(folder, name="scene", channels=1):
    made = as_capture(np.random.default_rng(0).random((64, 64)))
    source = replace(made.source, files=(str(folder / f"{name}_left.pgm"),))
    return replace(made, raw=made.raw.repeat(channels, 1), name=name, source=source)


def test_a_photo_beside_the_capture_is_found_and_forgotten_with_it(qtbot, tmp_path):
    control = PhotoInput()
    qtbot.addWidget(control)
    (tmp_path / "scene.jpg").touch()
    control.follow(_capture(tmp_path))
    assert control.path == tmp_path / "scene.jpg"
    control.line.setText("")
    control.follow(_capture(tmp_path))
    assert control.path is None, "whoever clears the line wants no photo"
    control.line.setText(str(tmp_path / "mine.jpg"))
    control.follow(_capture(tmp_path))
    assert control.path == tmp_path / "mine.jpg"
    control.follow(_capture(tmp_path, "other"))
    assert control.path is None


def test_a_colour_pair_takes_no_photo(qtbot, tmp_path):
    control = PhotoInput()
    qtbot.addWidget(control)
    control.line.setText("photo.jpg")
    control.follow(_capture(tmp_path, channels=3))
    assert control.path is None
    control.line.clear()
    assert control.line.placeholderText() == "Not needed: in colour"


def test_the_command_names_the_photo(tmp_path):
    words = fit_command(_capture(tmp_path), "lens.dpcal", FitSettings(), photo=tmp_path / "a b.jpg")
    assert f"--photo '{tmp_path / 'a b.jpg'}'" in words


def test_filled_colours_are_a_layer_that_is_saved_again(make_result):
    fitted_result = make_result(channels=3)
    filled = np.zeros(fitted_result.defocus_map.shape, np.float32)
    filled[:5] = 1
    coloured = replace(fitted_result, color_filled=filled)
    layers = run_layers(coloured)
    assert len(layers) == len(run_layers(fitted_result)) + 1
    assert layers[-1][1]["name"].endswith("filled colours")
    assert overlap_layer(np.zeros((4, 6, 3), np.uint8), "scene")[1]["name"] == "scene photo overlap"
    again = result_of_layers([Layer.create(*layer) for layer in layers])
    np.testing.assert_array_equal(again.color_filled, filled)
