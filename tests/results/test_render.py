"""Saved layers through the lens, layer by layer."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import finish
from napari_dpdeblur.results.render import layer_blur, render_views


def test_layer_by_layer_is_what_the_renderer_gives_at_once():
    layers, lens = synthetic_scene(96, 128, seed=3).layers, synthetic_calibration(96, 128)
    blur = layer_blur(layers, lens, None)
    expected = layers.render(blur).numpy()
    np.testing.assert_allclose(finish(render_views(layers, blur)), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("crop", [(0, 0, 64, 64), (0, 1, 96, 128), (-1, 0, 96, 128)])
def test_layers_lie_where_the_crop_says_and_in_the_field(crop):
    layers, lens = synthetic_scene(96, 128).layers, synthetic_calibration(96, 128)
    with pytest.raises(CalibrationError, match=r"96 x 128 px does not match the crop of \d+ x \d+"):
        layer_blur(layers, lens, crop)
