"""Inspecting layers that are surfaces: their lens, sharp parallax, movies, 3D."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qtpy.QtCore import Qt

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.lens_model import CENTRED, LensModel
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, read_run, write_run
from napari_dpdeblur.results.refocus.viewpoint import SharpViews

pytest.importorskip("napari")

from napari_dpdeblur.viewer.inspect.refocus_view import SWAY_FRAMES
from napari_dpdeblur.viewer.inspect.widget import InspectWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.layers.metadata import kind_of

PATIENCE_MS = 20_000
MODEL = LensModel(True, 5, 1e-4, True, 16, 0.1)


@pytest.fixture
def surfaces(make_result: Callable[..., Result], calibration: Calibration) -> Result:
    """A slanted wall and a square in front of it; the lens and its use are known."""
    result = make_result(layers=2)
    height, width = result.defocus_map.shape
    alpha = np.zeros((2, 1, height, width), np.float32)
    alpha[0] = 1
    alpha[1, 0, 30:60, 40:80] = 1
    defocus = np.full_like(alpha, 0.3)
    defocus[0, 0] = np.linspace(1.3, 0.8, width)
    mpi = MultiplaneImage(result.mpi_color, alpha, np.array([1.05, 0.3]), defocus)
    provenance = {**result.provenance, "lens_model": MODEL.describe()}
    lens = replace(calibration, excess_variance_px2=(0.4, 0.4))
    return replace(result, mpi=mpi, provenance=provenance, calibration=lens)


@pytest.fixture
def open_result(viewer_model: Any, qtbot: Any) -> Iterator[Callable[[Result], InspectWidget]]:
    opened: list[InspectWidget] = []

    def show(result: Result) -> InspectWidget:
        put_layers(viewer_model, run_layers(result))
        opened.append(InspectWidget(viewer_model))
        qtbot.addWidget(opened[0])
        return opened[0]

    yield show
    for widget in opened:
        widget.close_down()


def test_a_reopened_run_is_refocused_with_the_lens_of_its_fit(surfaces, tmp_path, open_result):
    widget = open_result(read_run(write_run(surfaces, tmp_path / "run")))
    assert widget.source is not None
    aperture = widget.refocus_panel.lens.aperture(widget.source)
    assert aperture.lens == MODEL
    expected = surfaces.calibration.kernel_grid(MODEL).kernels
    torch.testing.assert_close(aperture.grid.kernels, expected)
    assert (expected - surfaces.calibration.kernel_grid(CENTRED).kernels).abs().max() > 1e-4


def test_an_older_run_is_refocused_as_before(surfaces, open_result):
    provenance = {name: v for name, v in surfaces.provenance.items() if name != "lens_model"}
    widget = open_result(replace(surfaces, provenance=provenance))
    assert widget.source is not None
    aperture = widget.refocus_panel.lens.aperture(widget.source)
    assert aperture.lens == CENTRED
    torch.testing.assert_close(
        aperture.grid.kernels, surfaces.calibration.kernel_grid().centred().kernels
    )


def test_without_a_calibration_there_is_no_calibrated_aperture(surfaces, open_result):
    widget = open_result(replace(surfaces, calibration=None))
    assert widget.source is not None
    with pytest.raises(CalibrationError, match="is not open; open it or use a round aperture"):
        widget.source.calibrated_aperture()


def test_a_slanted_layer_has_the_defocus_of_its_pixels(surfaces, open_result):
    source = open_result(surfaces).source
    assert source is not None
    expected = surfaces.mpi.defocus_map()
    for pixel in ((5, 3), (5, 110), (45, 60)):
        assert source.defocus_at(*pixel) == pytest.approx(expected[pixel], abs=1e-6)


def test_rocking_all_in_focus_moves_the_sharp_layers(surfaces, open_result, viewer_model, qtbot):
    widget = open_result(surfaces)
    panel = widget.refocus_panel
    widget.tabs.setCurrentWidget(panel)
    panel.focus_at(0.3)
    qtbot.mouseClick(panel.sharp, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(panel.rock, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: not panel.view.is_busy and len(panel.view._frames) == SWAY_FRAMES,
        timeout=PATIENCE_MS,
    )
    assert panel.status.text() == "Sharp parallax, 128 x 96 px"
    sway_px = panel.view.renderers.aperture.sway_px()
    layer = next(layer for layer in viewer_model.layers if kind_of(layer) == "refocused")
    seen = []
    for side in (1, -1):
        expected = SharpViews(surfaces.mpi).parallax((side * sway_px, 0.0), 0.3)[0]
        qtbot.waitUntil(
            lambda e=expected: bool(np.abs(layer.data - e).max() < 1e-5), timeout=PATIENCE_MS
        )
        seen.append(layer.data.copy())
    square = np.s_[32:58, 42:78]
    np.testing.assert_allclose(seen[0][square], seen[1][square], atol=1e-5)  # in focus: stays
    assert np.abs(seen[0] - seen[1]).mean() > 0.01
    qtbot.mouseClick(panel.rock, Qt.MouseButton.LeftButton)
    sharp = np.asarray(surfaces.mpi.all_in_focus())[0]
    qtbot.waitUntil(lambda: bool(np.abs(layer.data - sharp).max() < 1e-4), timeout=PATIENCE_MS)


@pytest.mark.parametrize("kind", ["Parallax", "Turntable"])
def test_movies_of_the_sharp_layers(surfaces, open_result, tmp_path: Path, qtbot, kind):
    import cv2

    widget = open_result(surfaces)
    widget.export.kind.setCurrentText(kind)
    widget.export.frames.setValue(5)
    with qtbot.waitSignal(widget.export.saved, timeout=PATIENCE_MS):
        widget.export.save_movie(tmp_path / "movie.mp4")
    movie = cv2.VideoCapture(str(tmp_path / "movie.mp4"))
    frames = []
    while (read := movie.read())[0]:
        frames.append(read[1].astype(float))
    assert len(frames) == 8
    ends, same = np.abs(frames[0] - frames[4]).mean(), np.abs(frames[1] - frames[7]).mean()
    assert same < 0.5 * ends, "there and back"


def test_the_hidden_part_of_a_layer_is_marked(surfaces, open_result, viewer_model, qtbot):
    widget = open_result(surfaces)
    widget.layers_panel.channel.setCurrentText("Hidden part marked")
    name = f"{surfaces.name} MPI hidden part marked"
    qtbot.waitUntil(lambda: name in viewer_model.layers, timeout=PATIENCE_MS)
    pixels = np.asarray(viewer_model.layers[name].data).astype(int)
    assert pixels.shape == (2, 96, 128, 4)
    tint = pixels[..., 0] - pixels[..., 1]  # grey, or towards magenta
    assert (tint[0, 30:60, 40:80] > 40).all()
    assert (tint[0, :28] == 0).all()
    assert (tint[1] == 0).all()


def test_in_3d_a_slanted_layer_is_a_slanted_mesh(surfaces, viewer, qtbot):
    constants = (2.0, -1.0)  # d = 2 - 1 / Z
    put_layers(
        viewer,
        run_layers(
            replace(surfaces, calibration=replace(surfaces.calibration, lens_constants=constants))
        ),
    )
    widget = InspectWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Inspect", area="right")
    try:
        panel = widget.depth_panel
        widget.tabs.setCurrentWidget(panel)
        qtbot.mouseClick(panel.toggle, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: viewer.dims.ndisplay == 3, timeout=PATIENCE_MS)
        layer = next(layer for layer in viewer.layers if kind_of(layer) == "3D layers")
        vertices, faces = layer.data[:2]
        assert len(faces) > 100
        wall = vertices[:-4]  # the square is the last
        z, x = np.abs(wall[:, 0]), wall[:, 2]
        assert np.corrcoef(z, x)[0, 1] > 0.999, "nearer on the right"
        assert np.ptp(z) == pytest.approx(0.4 * 128 * 0.5 / 1.0, rel=0.05)
        picture = viewer.screenshot(canvas_only=True, flash=False)
        assert (picture[..., :3].max(axis=-1) > 40).mean() > 0.1
        panel.axis.setCurrentText("Distance")
        by_distance = np.abs(layer.data[0][:-4, 0])
        metres = 1 / (2.0 - np.interp(x, (0, 127), (1.3, 0.8)))
        assert abs(np.corrcoef(by_distance, metres)[0, 1]) > 0.999
        qtbot.mouseClick(panel.toggle, Qt.MouseButton.LeftButton)
    finally:
        widget.close_down()


def test_distances_need_lens_constants(surfaces, open_result):
    panel = open_result(surfaces).depth_panel
    assert not panel.axis.model().item(1).isEnabled()
    assert panel.axis.currentText() == "Defocus"
