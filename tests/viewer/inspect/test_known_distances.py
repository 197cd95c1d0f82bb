"""Known distances in the Inspect panel: two clicked points give metres."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.viewer.inspect.widget import InspectWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.layers.queries import results

HEIGHT, WIDTH = 96, 128


@pytest.fixture
def result(make_result):
    """The left half at defocus scale 0.2, the right half at 1.2."""
    alpha = np.zeros((2, 1, HEIGHT, WIDTH), np.float32)
    alpha[0], alpha[1, 0, :, : WIDTH // 2] = 1, 1
    color = np.full((2, 1, HEIGHT, WIDTH), 0.3, np.float32)
    mpi = MultiplaneImage(color, alpha, np.array([1.2, 0.2], np.float32))
    return replace(make_result(layers=2), mpi=mpi, defocus_map=mpi.defocus_map())


@pytest.fixture(params=[True, False], ids=["with lens", "without lens"])
def widget(request, viewer_model, qtbot, result, calibration):
    lens = calibration if request.param else None
    described = {**calibration.describe(), "lens_constants": None}
    provenance = {**result.provenance, "calibration": described}
    put_layers(viewer_model, run_layers(replace(result, calibration=lens, provenance=provenance)))
    made = InspectWidget(viewer_model)
    qtbot.addWidget(made)
    yield made
    made.close_down()


def click(widget, row, col):
    """Click on a pixel of the canvas."""
    layer = widget.source.layer
    place = np.asarray((row, col)) * layer.scale[-2:] + layer.translate[-2:]
    position = (*widget._viewer.cursor.position[:-2], *place)
    widget._viewer.cursor.position = position
    for callback in widget._viewer.mouse_drag_callbacks:
        callback(widget._viewer, None)


def test_two_points_give_metres_everywhere(widget, tmp_path):
    panel = widget.depth_panel.distances
    assert not panel.save_button.isEnabled()
    known = [(40, 20, 1.0), (40, 100, 2.0)]
    for point, (row, col, metres) in zip(panel.points, known, strict=True):
        point.button.click()
        assert panel.is_picking
        click(widget, row, col)
        assert point.pixel == (row, col)
        assert not panel.is_picking
        point.metres.setValue(metres)
    panel.apply_button.click()
    # 0.2 = A + B, 1.2 = A + B / 2
    assert widget.source.lens_constants == pytest.approx((2.2, -2.0), rel=1e-4)
    assert widget.source.unit("Defocus scale").sentence(1.2) == "Defocus 1.20 behind, distance 2 m"
    assert "focus plane at 0.909 m" in panel.status.text()
    assert panel.points[0].pixel == (40, 20), "the points stay"
    (kept,) = results(widget._viewer).values()
    assert kept.lens_constants == pytest.approx((2.2, -2.0), rel=1e-4)
    panel.save(tmp_path / "metres.tif")
    written = tifffile.imread(tmp_path / "metres.tif")
    assert (written[40, 20], written[40, 100]) == pytest.approx((1.0, 2.0), rel=1e-4)


def test_only_one_point_is_picked_at_a_time(widget):
    first, second = widget.depth_panel.distances.points
    first.button.click()
    second.button.click()
    assert (first.button.isChecked(), second.button.isChecked()) == (False, True)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([((40, 20), 1.0), (None, 2.0)], "Two points with their distances are needed."),
        ([((40, 20), 1.0), ((40, 100), 0.0)], "Two points with their distances are needed."),
        ([((40, 20), 1.0), ((40, 100), 1.0)], "The known distances are all about 1 m"),
        ([((40, 20), 1.0), ((50, 20), 2.0)], "The defocus is the same"),
        ([((40, 20), 2.0), ((40, 100), 1.0)], "contradict the defocus map"),
    ],
)
def test_points_that_say_nothing(widget, qtbot, points, sentence):
    panel = widget.depth_panel.distances
    for point, (pixel, metres) in zip(panel.points, points, strict=True):
        point.set_pixel(pixel)
        point.metres.setValue(metres)
    before = [layer_info(layer).provenance for layer in widget._viewer.layers]
    with qtbot.waitSignal(panel.failed) as failed:
        panel.apply()
    assert sentence in failed.args[0]
    assert [layer_info(layer).provenance for layer in widget._viewer.layers] == before


def test_nothing_is_saved_before_distances_are_known(widget, qtbot, tmp_path):
    panel = widget.depth_panel.distances
    with qtbot.waitSignal(panel.failed) as failed:
        panel.save(tmp_path / "metres.tif")
    assert "The distances are not known yet." in failed.args[0]
    assert not list(tmp_path.iterdir())
