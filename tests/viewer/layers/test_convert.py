"""Records to layers and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results.export import display_values
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers, put_steps, text_overlay
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import (
    capture_layers,
    image_layer,
    linear_image,
    result_of_layers,
    run_layers,
)
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    MPI,
    LayerInfo,
    layer_info,
)
from napari_dpdeblur.viewer.layers.placement import placement


def test_views_are_placed_in_square_pixels_of_the_frame(viewer_model, scene_capture):
    right, left = put_layers(viewer_model, capture_layers(scene_capture))
    assert (left.name, right.name) == ("scene left", "scene right")
    assert left.data.shape == (48, 128)
    assert left.scale == pytest.approx((2, 1))
    assert left.units == right.units
    # Edge to edge: 96 x 128 square pixels, the first of which is centred at the origin.
    np.testing.assert_allclose(left.extent.world, [[0.5, 0.0], [94.5, 127.0]])
    assert layer_info(left).capture is scene_capture
    assert layer_info(left).provenance["capture"]["pixel_aspect"] == 2.0


def test_results_lie_over_the_capture(viewer_model, scene_capture, make_result):
    put_layers(viewer_model, capture_layers(scene_capture))
    image, *_ = put_layers(viewer_model, run_layers(make_result()))
    np.testing.assert_allclose(image.extent.world, [[0, 0], [95, 127]])
    put_layers(viewer_model, run_layers(make_result(crop=[16, 32, 40, 50]), group="crop"))
    cropped = queries.layer_of(viewer_model, "crop", ALL_IN_FOCUS)
    np.testing.assert_allclose(cropped.extent.world, [[16, 32], [55, 81]])


def test_the_slider_of_the_mpi_is_named_and_walks_from_back_to_front(viewer_model, make_result):
    result = make_result(layers=4)
    put_layers(viewer_model, run_layers(result))
    stack = queries.layer_of(viewer_model, "scene", MPI)
    assert stack.rgb
    assert stack.data.shape == (4, 96, 128, 4)
    assert viewer_model.dims.axis_labels == ("layer", "y", "x")
    assert viewer_model.dims.range[0] == (0, 3, 1)
    assert list(layer_info(stack).defocus_scales) == sorted(result.defocus_scales, reverse=True)
    # The back layer is opaque, and its bytes are the linear colours behind the sRGB curve.
    assert (stack.data[0, ..., 3] == 255).all()
    white = float(np.percentile(result.all_in_focus, 99.7))
    expected = display_values(result.mpi_color[2], white, np.uint8)
    np.testing.assert_array_equal(stack.data[2, ..., 0], expected)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_result_survives_the_way_through_the_viewer(viewer_model, make_result, channels):
    result = make_result(channels)
    put_layers(viewer_model, run_layers(result))
    back = result_of_layers(viewer_model.layers)
    for name in ("all_in_focus", "defocus_map", "confidence", "mpi_color", "mpi_alpha"):
        np.testing.assert_array_equal(getattr(back, name), getattr(result, name))
    np.testing.assert_array_equal(back.defocus_scales, result.defocus_scales)
    assert back.provenance == result.provenance


def test_colours_are_shown_with_a_tone_curve_and_kept_linear(viewer_model, make_result):
    result = make_result(channels=3)
    image, *_ = put_layers(viewer_model, run_layers(result))
    assert image.rgb
    assert image.data.dtype == np.uint8
    np.testing.assert_array_equal(linear_image(image), result.all_in_focus)


def test_an_incomplete_selection_is_no_result(viewer_model, make_result):
    image, defocus, *_ = put_layers(viewer_model, run_layers(make_result()))
    with pytest.raises(ResultError, match="confidence and mpi missing; select all layers of one"):
        result_of_layers([image, defocus])


def test_the_defocus_map_has_even_colours_and_a_bar_with_its_unit(viewer_model, make_result):
    put_layers(viewer_model, run_layers(make_result()))
    layer = queries.layer_of(viewer_model, "scene", DEFOCUS_MAP)
    assert layer.colormap.name == "viridis"
    assert layer.contrast_limits == pytest.approx([0.1, 1.4])
    assert not text_overlay(viewer_model).visible
    layer.visible = True
    has_bar = hasattr(layer, "colorbar")
    if has_bar:
        assert layer.colorbar.visible
        layer.colorbar.visible = False
    assert text_overlay(viewer_model).visible
    assert text_overlay(viewer_model).text == "defocus (1 = calibrated blur)"
    layer.visible = False
    layer.visible = True
    assert not has_bar or not layer.colorbar.visible  # as the user wants it
    viewer_model.layers.remove(layer)
    assert not text_overlay(viewer_model).visible


def _signed(result):
    """The same result with the back half of its map in front of the focus plane."""
    defocus_map = result.defocus_map.copy()
    defocus_map[48:] *= -0.5
    mpi = replace(result.mpi, defocus_scales=np.linspace(1.4, -0.7, len(result.defocus_scales)))
    return replace(result, defocus_map=defocus_map, mpi=mpi)


def test_a_map_on_both_sides_has_diverging_colours_around_the_focus(viewer_model, make_result):
    put_layers(viewer_model, run_layers(_signed(make_result())))
    layer = queries.layer_of(viewer_model, "scene", DEFOCUS_MAP)
    assert layer.colormap.name == "front-focus-behind"
    assert layer.contrast_limits == pytest.approx([-1.4, 1.4])
    low, focus, high = layer.colormap.map(np.array([0.0, 0.5, 1.0]))[:, :3]
    assert np.ptp(focus) == 0
    assert focus.mean() > 0.9
    assert low[0] > low[2]
    assert high[0] < high[2]
    layer.visible = True
    assert text_overlay(viewer_model).text == "defocus (1 = calibrated blur, negative in front)"


def test_colours_change_with_the_sides_of_a_map_but_not_the_choice_of_the_user(
    viewer_model, make_result
):
    one_sided = make_result()
    put_layers(viewer_model, run_layers(one_sided))
    layer = queries.layer_of(viewer_model, "scene", DEFOCUS_MAP)
    layer.colormap = "gray"
    put_layers(viewer_model, run_layers(one_sided))
    assert layer.colormap.name == "gray"
    put_layers(viewer_model, run_layers(_signed(one_sided)))
    assert layer.colormap.name == "front-focus-behind"
    assert layer.contrast_limits == pytest.approx([-1.4, 1.4])
    put_layers(viewer_model, run_layers(one_sided))
    assert layer.colormap.name == "viridis"


def test_text_of_others_stays(viewer_model, make_result):
    text_overlay(viewer_model).text, text_overlay(viewer_model).visible = "mine", True
    put_layers(viewer_model, run_layers(make_result()))
    queries.layer_of(viewer_model, "scene", DEFOCUS_MAP).visible = True
    assert text_overlay(viewer_model).text == "mine"
    text_overlay(viewer_model).text, text_overlay(viewer_model).visible = "", False


def test_a_layer_that_comes_by_itself_leaves_the_selection(viewer_model, make_result):
    layers = run_layers(make_result())
    (image,) = put_layers(viewer_model, layers[:1])
    assert viewer_model.layers.selection.active is image
    steps = put_steps(viewer_model, [layers[0], *layers[1:]])
    image.visible = False
    for step in steps:
        step()
    assert len(viewer_model.layers) == 4
    assert not image.visible  # it was there: its look is kept
    assert viewer_model.layers.selection.active is image
    placed = placement((1.0, 1.0), (0.0, 0.0))
    other = image_layer(image.data[None], LayerInfo("left view", "other"), placed)
    add, show = put_steps(viewer_model, [other])
    add()
    assert not viewer_model.layers[-1].visible
    show()
    assert viewer_model.layers[-1].visible
    added = viewer_model.add_image(np.zeros((4, 4)))
    assert viewer_model.layers.selection.active is added  # as ever


def test_new_data_of_the_same_kind_goes_into_the_same_layer(viewer_model, make_result):
    first = put_layers(viewer_model, run_layers(make_result(layers=4)))
    first[1].colormap = "inferno"
    result = make_result(layers=6)
    second = put_layers(viewer_model, run_layers(result))
    assert [a is b for a, b in zip(first, second, strict=True)] == [True] * 4
    assert first[1].colormap.name == "inferno"
    np.testing.assert_array_equal(result_of_layers(viewer_model.layers).mpi_color, result.mpi_color)


def test_kernels_are_drawn_over_their_tiles(viewer_model, calibration, scene_capture):
    put_layers(viewer_model, capture_layers(scene_capture))
    layers = put_layers(viewer_model, calibration_layers(calibration, "lens"))
    assert [layer.name for layer in layers] == ["lens vignetting", "lens kernels"]
    assert [layer.visible for layer in layers] == [False, True]
    kernels = layers[-1]
    size = calibration.kernels.shape[-1]
    red, _, blue = np.moveaxis(kernels.data[:size, size : 2 * size] / 255, -1, 0)
    expected = calibration.kernels[1] / calibration.kernels.max()
    np.testing.assert_allclose(red**2, expected[0], atol=0.01)
    np.testing.assert_allclose(blue**2, expected[1], atol=0.01)
    corners = kernels.extent.world + np.array([[-0.5], [0.5]]) * kernels.scale
    np.testing.assert_allclose(corners, [[-0.5, -0.5], [95.5, 127.5]])
