"""The Inspect widget in a real window."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result

pytest.importorskip("napari")
from controls import assert_usable, own_controls
from qtpy.QtCore import QPoint, Qt

from napari_dpdeblur.results.movie import write_movie
from napari_dpdeblur.viewer.inspect.widget import InspectWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.camera import camera_of
from napari_dpdeblur.viewer.layers.convert import linear_image, run_layers
from napari_dpdeblur.viewer.layers.metadata import kind_of

HEIGHT, WIDTH = 96, 128
PATIENCE_MS = 60_000  # for a machine that has other things to do
SCALES = np.array([1.2, 0.7, 0.2])


def _record(base: Result, channels: int = 1) -> Result:
    """Three planes: all of the picture, a square before it, a strip before that."""
    random = np.random.default_rng(3)
    color = random.uniform(0.05, 0.5, (3, channels, HEIGHT, WIDTH)).astype(np.float32)
    alpha = np.zeros((3, 1, HEIGHT, WIDTH), np.float32)
    alpha[0] = 1
    alpha[1, 0, 20:70, 30:90] = 1
    alpha[2, 0, :, 100:110] = 1
    weights = alpha.copy()
    weights[1] *= 1 - alpha[2]
    weights[0] *= (1 - alpha[1]) * (1 - alpha[2])
    return replace(
        base,
        all_in_focus=(weights * color).sum(0),
        defocus_map=(weights[:, 0] * SCALES[:, None, None]).sum(0).astype(np.float32),
        mpi=MultiplaneImage(
            color,
            alpha,
            SCALES,
        ),
    )


@pytest.fixture
def result(make_result: Callable[..., Result]) -> Result:
    return _record(make_result(layers=3))


@pytest.fixture
def docked(
    viewer: Any, result: Result, calibration: Calibration, qtbot: Any
) -> Iterator[InspectWidget]:
    """The widget in a real window, beside the canvas."""
    put_layers(viewer, run_layers(replace(result, calibration=calibration)))
    widget = InspectWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Inspect", area="right")
    viewer.window._qt_window.resize(1366, 740)
    yield widget
    widget.close_down()


@pytest.fixture
def model(viewer_model: Any) -> Any:
    """A viewer without a window, where only layers and controls matter."""
    return viewer_model


@pytest.fixture
def open_widget(model: Any, qtbot: Any) -> Iterator[Callable[[], InspectWidget]]:
    opened: list[InspectWidget] = []

    def make() -> InspectWidget:
        opened.append(InspectWidget(model))
        qtbot.addWidget(opened[0])
        return opened[0]

    yield make
    for widget in opened:
        widget.close_down()


@pytest.fixture
def widget(model: Any, result: Result, calibration: Calibration, open_widget: Any) -> InspectWidget:
    put_layers(model, run_layers(replace(result, calibration=calibration)))
    return open_widget()


def _refocus(widget: InspectWidget, qtbot: Any) -> np.ndarray:
    """Wait for the full picture and return it, (C, H, W)."""
    panel = widget.refocus_panel
    qtbot.waitUntil(
        lambda: not panel.view.is_busy and panel.view.picture is not None, timeout=PATIENCE_MS
    )
    return panel.view.picture.image


def _refocused_layer(viewer: Any) -> Any:
    return next(layer for layer in viewer.layers if kind_of(layer) == "refocused")


def _hover(viewer: Any, row: float, col: float) -> None:
    viewer.cursor.position = (0.0, row, col)
    for callback in viewer.mouse_move_callbacks:
        callback(viewer, None)


def test_opening_the_panels_does_not_load_torch() -> None:
    modules = ("inspect.widget", "evaluate.widget")
    code = "".join(f"import napari_dpdeblur.viewer.{name}\n" for name in modules)
    code += "import sys\nsys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_a_multiplane_image_it_says_so(model: Any, open_widget: Any) -> None:
    widget = open_widget()
    assert not widget.message.isHidden()
    assert "No multiplane image is open. Fit a capture" in widget.message.text()
    assert widget.tabs.isHidden()
    model.add_image(np.zeros((9, 9)))  # somebody else's layer
    assert widget.source is None
    with pytest.raises(Exception, match="No refocused image to save yet"):
        widget.export.save_view("nowhere.png")


def test_layers_can_be_browsed(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    assert widget.source is not None
    mpi = widget.source.layer
    assert [layer.name for layer in model.layers if layer.visible] == [mpi.name]
    widget.layers_panel.slider.setValue(0)
    qtbot.mouseClick(widget.layers_panel.front, Qt.MouseButton.LeftButton)
    assert model.dims.current_step[0] == 1
    assert "Layer 1 (0 is the farthest, 2 the nearest)" in widget.layers_panel.text.text()
    assert "Defocus 0.70 behind" in widget.layers_panel.text.text()
    model.dims.set_current_step(0, 2)  # napari's own slider
    assert widget.layers_panel.slider.value() == 2
    assert "Layer 2 (" in widget.layers_panel.text.text()  # as napari counts


def test_keys_on_the_canvas_step_through_the_layers(
    viewer: Any, docked: InspectWidget, qtbot: Any
) -> None:
    docked.layers_panel.slider.setValue(1)
    canvas = viewer.window._qt_viewer.canvas.native
    canvas.setFocus()
    qtbot.keyClick(canvas, Qt.Key.Key_Period)
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 2, timeout=PATIENCE_MS)
    qtbot.keyClick(canvas, Qt.Key.Key_Comma)
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 1, timeout=PATIENCE_MS)


def test_channels_of_the_layers(
    model: Any, widget: InspectWidget, result: Result, qtbot: Any
) -> None:
    assert widget.layers_panel.channel.count() == 8
    expected = {
        "Alpha": result.mpi_alpha[:, 0],
        "Colour": result.mpi_color[:, 0],
        "Colour x alpha": (result.mpi_color * result.mpi_alpha)[:, 0],
    }
    weights = result.mpi_alpha[:, 0].copy()
    weights[1] *= 1 - weights[2]
    weights[0] *= (1 - result.mpi_alpha[1, 0]) * (1 - weights[2])
    expected["Transmittance"] = weights
    for channel, values in expected.items():
        widget.layers_panel.channel.setCurrentText(channel)
        name = f"scene MPI {channel.lower()}"
        qtbot.waitUntil(
            lambda n=name: n in model.layers and model.layers[n].visible, timeout=PATIENCE_MS
        )
        np.testing.assert_allclose(model.layers[name].data, values, atol=1e-6)
        assert [layer.name for layer in model.layers if layer.visible] == [name]
    widget.layers_panel.channel.setCurrentIndex(0)
    assert [layer.name for layer in model.layers if layer.visible] == ["scene MPI"]


def test_cursor_reads_defocus_weights_and_distance(
    model: Any, result: Result, calibration: Calibration, open_widget: Any
) -> None:
    known = replace(calibration, lens_constants=(2.0, -0.5))
    put_layers(model, run_layers(replace(result, calibration=known)))
    widget = open_widget()
    _hover(model, 40, 50)
    assert "Defocus 0.70 behind, distance 0.385 m" in widget.reading.text()
    np.testing.assert_allclose(widget.plot.weights, [0, 1, 0])
    _hover(model, 5, 105)
    assert "Defocus 0.20 behind" in widget.reading.text()
    _hover(model, -20, 5)
    assert "Move the cursor" in widget.reading.text()


def test_without_lens_constants_there_is_no_distance(model: Any, widget: InspectWidget) -> None:
    _hover(model, 5, 5)
    assert "Defocus 1.20 behind" in widget.reading.text()
    assert "distance" not in widget.reading.text()


def test_refocusing_by_the_sliders(
    model: Any, widget: InspectWidget, result: Result, qtbot: Any
) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    captured = _refocus(widget, qtbot)
    assert [layer.name for layer in model.layers if layer.visible] == ["scene refocused"]
    qtbot.mouseClick(widget.refocus_panel.sharp, Qt.MouseButton.LeftButton)
    sharp = _refocus(widget, qtbot)
    np.testing.assert_allclose(sharp, result.all_in_focus, atol=1e-5)
    np.testing.assert_array_equal(_refocused_layer(model).data, sharp[0])
    qtbot.mouseClick(widget.refocus_panel.captured, Qt.MouseButton.LeftButton)
    np.testing.assert_allclose(_refocus(widget, qtbot), captured, atol=1e-6)
    assert captured.std() < 0.8 * sharp.std()
    widget.refocus_panel.focus.setValue(0.7)
    middle = _refocus(widget, qtbot)
    inside = np.s_[0, 35:55, 45:75]  # the square is in focus, away from its rim
    np.testing.assert_allclose(middle[inside], result.mpi_color[1][inside], atol=1e-4)


def test_refocusing_with_the_keyboard(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    slider = widget.refocus_panel.focus
    slider.setFocus()
    before = slider.value()
    qtbot.keyClick(slider.slider, Qt.Key.Key_Right)
    assert slider.value() == pytest.approx(before + 0.02, abs=1e-6)
    assert _refocus(widget, qtbot) is not None
    assert widget.refocus_panel.view.picture.shot.focus == pytest.approx(slider.value())


def _edges(layer: Any) -> np.ndarray:
    """Corners of a picture; napari's extent is that of the centres of its pixels."""
    return layer.extent.world + np.array([[-0.5], [0.5]]) * layer.scale


def test_preview_first_then_the_full_picture(
    model: Any, widget: InspectWidget, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("napari_dpdeblur.results.refocus.renderer.PREVIEW_LONG_SIDE_PX", 64)
    seen: list[Any] = []
    places: list[np.ndarray] = []
    widget.refocus_panel.view.shown.connect(seen.append)
    widget.refocus_panel.view.shown.connect(
        lambda _: places.append(_edges(_refocused_layer(model)))
    )
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    assert [picture.is_full for picture in seen][-1]
    assert not seen[0].is_full
    assert seen[0].rendered_px == (48, 64)
    assert seen[-1].image.shape == (1, HEIGHT, WIDTH)
    np.testing.assert_allclose(places[0], places[-1], atol=1e-6)
    assert "Full size, 128 x 96 px" in widget.refocus_panel.status.text()


def test_a_small_result_has_a_quick_preview_of_its_own_size(
    widget: InspectWidget, qtbot: Any
) -> None:
    seen: list[Any] = []
    widget.refocus_panel.view.shown.connect(seen.append)
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    assert [picture.is_full for picture in seen] == [False, True]
    assert {picture.rendered_px for picture in seen} == {(HEIGHT, WIDTH)}


def test_the_list_of_layers_hears_of_full_pictures_only(
    model: Any, widget: InspectWidget, qtbot: Any
) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    heard: list[str] = []
    model.layers.events.connect(lambda event: heard.append(event.type))
    widget.refocus_panel.view.shown.connect(lambda picture: heard.append(str(picture.is_full)))
    widget.refocus_panel.focus.setValue(0.7)
    _refocus(widget, qtbot)
    before_preview, after = heard[: heard.index("False")], heard[heard.index("False") :]
    assert "thumbnail" not in before_preview
    assert "thumbnail" in after[: after.index("True")]


def test_stale_requests_are_dropped(widget: InspectWidget, qtbot: Any) -> None:
    seen: list[Any] = []
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    widget.refocus_panel.view.shown.connect(seen.append)
    for focus in np.linspace(0.0, 1.0, 40):
        widget.refocus_panel.focus.setValue(float(focus))
    _refocus(widget, qtbot)
    assert len(seen) < 20
    assert seen[-1].shot.focus == pytest.approx(1.0)


def test_parallax_by_hand_and_rocking(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    pictures = {}
    for side in ("Both views", "Left view", "Right view"):
        widget.refocus_panel.side.setCurrentText(side)
        pictures[side] = _refocus(widget, qtbot)
    both, left, right = pictures.values()
    np.testing.assert_allclose(both, (left + right) / 2, atol=1e-5)
    assert np.abs(left - right).mean() > 1e-3
    layer = _refocused_layer(model)
    qtbot.mouseClick(widget.refocus_panel.rock, Qt.MouseButton.LeftButton)
    assert not widget.refocus_panel.side.isEnabled()

    def shows(expected: np.ndarray) -> Callable[[], bool]:
        return lambda: bool(np.abs(layer.data - expected[0]).max() < 1e-5)

    for expected in (left, right, both, left):
        qtbot.waitUntil(shows(expected), timeout=PATIENCE_MS)
    qtbot.mouseClick(widget.refocus_panel.rock, Qt.MouseButton.LeftButton)
    np.testing.assert_allclose(_refocus(widget, qtbot), right, atol=1e-6)


def test_a_click_brings_a_place_into_focus(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    model.cursor.position = (0.0, 5.0, 105.0)
    for callback in model.mouse_drag_callbacks:
        callback(model, None)
    assert widget.refocus_panel.focus.value() == pytest.approx(0.0)
    qtbot.mouseClick(widget.refocus_panel.by_click, Qt.MouseButton.LeftButton)
    for callback in model.mouse_drag_callbacks:
        callback(model, None)
    assert widget.refocus_panel.focus.value() == pytest.approx(0.2, abs=0.011)


def test_without_calibration_a_round_aperture(
    model: Any, result: Result, calibration: Calibration, open_widget: Any, qtbot: Any
) -> None:
    put_layers(model, run_layers(result))
    widget = open_widget()
    panel = widget.refocus_panel
    assert panel.lens_kind.currentText() == "Round aperture"
    assert not panel.lens_kind.model().item(0).isEnabled()
    assert not panel.note.isHidden()
    assert "a round aperture is used instead" in panel.note.text()
    widget.tabs.setCurrentWidget(panel)
    first = _refocus(widget, qtbot)
    panel.radius.setValue(4.0)
    assert _refocus(widget, qtbot).std() > first.std()
    from napari_dpdeblur.viewer.layers.calibration import calibration_layers

    put_layers(model, calibration_layers(calibration))  # the one it was fitted with, by its hash
    assert panel.lens_kind.currentText() == "Calibrated kernels"
    assert panel.lens_kind.model().item(0).isEnabled()
    assert panel.note.isHidden()


def test_a_calibration_that_does_not_fit_is_explained(
    model: Any, make_result: Any, open_widget: Any, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    other = synthetic_calibration(50, 70, rows=2, cols=2)
    put_layers(model, run_layers(replace(_record(make_result(layers=3)), calibration=other)))
    widget = open_widget()
    shown: list[str] = []
    widget.refocus_panel.failed.connect(shown.append)
    monkeypatch.setattr("napari.utils.notifications.notification_manager.dispatch", lambda _: None)
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    qtbot.waitUntil(lambda: bool(shown), timeout=PATIENCE_MS)
    assert "use the calibration and the crop of the fit, or a round aperture" in shown[0]
    widget.refocus_panel.lens_kind.setCurrentText("Round aperture")
    assert _refocus(widget, qtbot).shape == (1, HEIGHT, WIDTH)


def test_colour(model: Any, make_result: Any, calibration: Any, open_widget: Any, qtbot: Any):
    result = _record(make_result(channels=3, layers=3), channels=3)
    put_layers(model, run_layers(replace(result, calibration=calibration)))
    widget = open_widget()
    widget.layers_panel.channel.setCurrentText("Colour")
    qtbot.waitUntil(lambda: "scene MPI colour" in model.layers, timeout=PATIENCE_MS)
    assert model.layers["scene MPI colour"].rgb
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    widget.refocus_panel.aperture.setValue(0.0)
    np.testing.assert_allclose(_refocus(widget, qtbot), result.all_in_focus, atol=1e-5)
    layer = _refocused_layer(model)
    assert layer.data.shape == (HEIGHT, WIDTH, 3)
    np.testing.assert_allclose(linear_image(layer), result.all_in_focus, atol=1e-5)


def test_the_refocused_picture_looks_as_somebody_made_it_look(
    model: Any, widget: InspectWidget, qtbot: Any
) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    layer = _refocused_layer(model)
    before = layer.data
    layer.contrast_limits, layer.gamma = (0.1, 0.2), 0.7
    widget.refocus_panel.focus.setValue(0.5)
    _refocus(widget, qtbot)
    assert _refocused_layer(model) is layer
    assert not np.array_equal(layer.data, before)
    assert (tuple(layer.contrast_limits), layer.gamma) == ((0.1, 0.2), 0.7)


def test_the_mouse_reads_the_canvas(viewer: Any, docked: InspectWidget, qtbot: Any) -> None:
    viewer.reset_view()
    canvas = viewer.window._qt_viewer.canvas.native
    window = canvas.window()
    centre = canvas.mapTo(window, canvas.rect().center())
    steps = cycle((9, 0))  # a cursor that is there already does not move

    def reads() -> bool:
        # To the window itself: the pointer of the screen would move over any that lies above it.
        qtbot.mouseMove(window.windowHandle(), centre + QPoint(1, 1) * next(steps))
        return "Defocus" in docked.reading.text()

    qtbot.waitUntil(reads, timeout=PATIENCE_MS)  # a window that is just opening hears nothing
    assert "Defocus 0.70 behind" in docked.reading.text()  # the square in the middle
    np.testing.assert_allclose(docked.plot.weights, [0, 1, 0])


def test_3d_view_and_back(viewer: Any, docked: InspectWidget, qtbot: Any) -> None:
    viewer.dims.set_current_step(0, 1)
    viewer.reset_view()
    camera = camera_of(viewer)
    before = (camera.angles, camera.zoom, camera.center, viewer.dims.current_step)
    docked.tabs.setCurrentWidget(docked.depth_panel)
    qtbot.mouseClick(docked.depth_panel.toggle, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: viewer.dims.ndisplay == 3, timeout=PATIENCE_MS)
    layer = viewer.layers["scene 3D layers"]
    assert [other.name for other in viewer.layers if other.visible] == [layer.name]
    vertices, faces = layer.data[:2]
    assert len(vertices) == 12
    depths = vertices[::4, 0]
    assert np.ptp(depths) == pytest.approx(0.4 * WIDTH)
    picture = viewer.screenshot(canvas_only=True, flash=False)
    assert (picture[..., :3].max(axis=-1) > 40).mean() > 0.05
    docked.depth_panel.spread.setValue(80)
    assert np.ptp(layer.data[0][:, 0]) == pytest.approx(0.8 * WIDTH)
    camera.angles = (0.0, camera.angles[1] + 180.0, camera.angles[2])  # look from behind
    assert (layer.data[1][:2] != faces[:2]).any()
    qtbot.mouseClick(docked.depth_panel.toggle, Qt.MouseButton.LeftButton)
    assert viewer.dims.ndisplay == 2
    assert "scene 3D layers" not in viewer.layers
    assert [other.name for other in viewer.layers if other.visible] == ["scene MPI"]
    after = (camera.angles, camera.zoom, camera.center, viewer.dims.current_step)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-6)


def test_another_tab_leaves_3d(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.depth_panel)
    widget.depth_panel.toggle.setChecked(True)
    qtbot.waitUntil(lambda: model.dims.ndisplay == 3, timeout=PATIENCE_MS)
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    assert model.dims.ndisplay == 2
    assert not widget.depth_panel.toggle.isChecked()
    assert [layer.name for layer in model.layers if layer.visible] == ["scene refocused"]


def test_deleted_layers(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    _refocus(widget, qtbot)
    model.layers.remove("scene refocused")
    assert "scene refocused" not in model.layers
    widget.refocus_panel.focus.setValue(0.4)
    _refocus(widget, qtbot)
    assert "scene refocused" in model.layers
    widget.refocus_panel.focus.setValue(0.9)
    model.layers.remove("scene MPI")  # while it renders
    assert not widget.message.isHidden()
    assert widget.tabs.isHidden()
    qtbot.wait(300)
    _hover(model, 5, 5)


def test_layer_deleted_in_3d(model: Any, widget: InspectWidget, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.depth_panel)
    widget.depth_panel.toggle.setChecked(True)
    qtbot.waitUntil(lambda: model.dims.ndisplay == 3, timeout=PATIENCE_MS)
    model.layers.remove("scene 3D layers")
    assert model.dims.ndisplay == 2
    assert not widget.depth_panel.toggle.isChecked()


def test_closing_the_panel_leaves_the_viewer_as_it_was(
    viewer: Any, docked: InspectWidget, qtbot: Any
) -> None:
    docked.layers_panel.channel.setCurrentText("Alpha")
    qtbot.waitUntil(lambda: "scene MPI alpha" in viewer.layers, timeout=PATIENCE_MS)
    docked.tabs.setCurrentWidget(docked.refocus_panel)
    _refocus(docked, qtbot)
    viewer.window.remove_dock_widget(docked)
    visible = [layer.name for layer in viewer.layers if layer.visible]
    assert visible == ["scene all-in-focus"]
    assert "scene MPI alpha" not in viewer.layers
    assert not [c for c in viewer.mouse_move_callbacks if "_weak" in c.__qualname__]
    viewer.layers.remove("scene MPI")  # nobody listens any more


def test_another_fit_into_the_same_layers(
    model: Any, widget: InspectWidget, result: Result, calibration: Calibration, qtbot: Any
) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    first = _refocus(widget, qtbot)
    darker = replace(result, mpi=replace(result.mpi, color=result.mpi_color / 2))
    put_layers(model, run_layers(replace(darker, calibration=calibration)))
    qtbot.waitUntil(lambda: widget.source.stack.color is darker.mpi_color, timeout=PATIENCE_MS)
    np.testing.assert_allclose(_refocus(widget, qtbot), first / 2, atol=1e-5)


def test_several_results(model: Any, widget: InspectWidget, result: Result) -> None:
    put_layers(model, run_layers(result, group="other"))
    assert widget.choice.count() == 2
    widget.choice.setCurrentText("other MPI")
    assert widget.source.group == "other"
    model.layers.remove("other MPI")
    assert widget.source.group == "scene"


def test_export_of_the_view(widget: InspectWidget, tmp_path: Path, qtbot: Any) -> None:
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    widget.refocus_panel.aperture.setValue(0.0)
    shown = _refocus(widget, qtbot)
    for name in ("view.png", "view.tif"):
        with qtbot.waitSignal(widget.export.saved, timeout=PATIENCE_MS):
            widget.export.save_view(tmp_path / name)
    with Image.open(tmp_path / "view.png") as picture:
        pixels = np.asarray(picture).astype(float) / 65535
    assert pixels.shape == (HEIGHT, WIDTH)
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    white = widget.source.white
    np.testing.assert_allclose(linear, np.clip(shown[0] / white, 0, 1), atol=2e-4)
    assert tifffile.imread(tmp_path / "view.tif").dtype == np.uint16
    with qtbot.waitSignal(widget.export.failed, timeout=PATIENCE_MS) as signal:
        widget.export.save_view(tmp_path / "view.png")
    assert "already exists" in signal.args[0]


def test_export_of_the_stack(
    widget: InspectWidget, tmp_path: Path, qtbot: Any, result: Result
) -> None:
    widget.export.frames.setValue(3)
    with qtbot.waitSignal(widget.export.saved, timeout=PATIENCE_MS):
        widget.export.save_stack(tmp_path / "stack.tif")
    with tifffile.TiffFile(tmp_path / "stack.tif") as tiff:
        focuses = [json.loads(page.description)["focus"] for page in tiff.pages]
        pages = tiff.asarray()
    np.testing.assert_allclose(focuses, [0.2, 0.7, 1.2])
    assert pages.shape == (3, HEIGHT, WIDTH)
    np.testing.assert_allclose(
        pages[1, 35:55, 45:75], result.mpi_color[1, 0, 35:55, 45:75], atol=1e-4
    )


@pytest.mark.parametrize("name", ["movie.mp4", "movie.gif"])
def test_export_of_a_movie(widget: InspectWidget, tmp_path: Path, qtbot: Any, name: str) -> None:
    import cv2

    widget.export.frames.setValue(4)
    with qtbot.waitSignal(widget.export.saved, timeout=PATIENCE_MS):
        widget.export.save_movie(tmp_path / name)
    if name.endswith("gif"):
        with Image.open(tmp_path / name) as movie:
            assert movie.n_frames == 6
    else:
        movie = cv2.VideoCapture(str(tmp_path / name))
        assert movie.get(cv2.CAP_PROP_FRAME_COUNT) == 6
        is_read, frame = movie.read()
        assert is_read
        assert frame.shape == (HEIGHT, WIDTH, 3)
        assert frame.std() > 5
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_wrong_names_and_cancel(
    widget: InspectWidget, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("napari.utils.notifications.notification_manager.dispatch", lambda _: None)
    with qtbot.waitSignal(widget.export.failed, timeout=PATIENCE_MS) as signal:
        widget.export.save_movie(tmp_path / "movie.doc")
    assert "movie.doc has the wrong suffix for a movie; use .mp4 or .gif" in signal.args[0]
    with qtbot.waitSignal(widget.export.failed, timeout=PATIENCE_MS) as signal:
        widget.export.save_movie(tmp_path / "no folder" / "movie.gif")
    assert "cannot be written" in signal.args[0]
    widget.export.frames.setValue(200)
    widget.export.save_stack(tmp_path / "stack.tif")
    with pytest.raises(Exception, match="A file is being written; wait until it is done"):
        widget.export.save_movie(tmp_path / "movie.gif")
    qtbot.wait(200)
    widget.export._cancel()
    qtbot.waitUntil(lambda: not widget.export._worker.is_busy, timeout=PATIENCE_MS)
    assert list(tmp_path.iterdir()) == []
    assert widget.export.view.isEnabled()


def test_a_movie_on_a_full_disk(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    random = np.random.default_rng(0)
    frames = random.integers(0, 255, (20, HEIGHT, WIDTH), np.uint8)
    earlier = tmp_path / "movie.mp4"
    earlier.write_bytes(b"earlier")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(ResultError, match=r"Only 0 of 20 frames of the movie could be"):
            write_movie(earlier, frames, 12.0, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["movie.mp4"]
    assert earlier.read_bytes() == b"earlier"


def test_buttons_ask_for_a_name(
    widget: InspectWidget, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dialog is the system's; what it gives is written."""
    from qtpy.QtWidgets import QFileDialog

    without_suffix = str(tmp_path / "picture"), "16-bit PNG (*.png)"
    answers = [without_suffix, without_suffix, ("", "")]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: answers.pop(0))
    with qtbot.waitSignal(widget.export.saved, timeout=PATIENCE_MS):
        widget.export.view.click()
    assert (tmp_path / "picture.png").stat().st_size > 100
    with qtbot.waitSignal(widget.export.failed, timeout=PATIENCE_MS) as signal:
        widget.export.view.click()
    assert "picture.png already exists" in signal.args[0]
    widget.export.stack.click()
    assert not widget.export._worker.is_busy


def test_every_control_has_a_name_and_a_tooltip(widget: InspectWidget) -> None:
    assert_usable(widget, at_least=20)
    own = [each for each in own_controls(widget) if not widget.compare.isAncestorOf(each)]
    assert [child for child in own if not child.objectName().startswith("inspect_")] == []


def test_it_fits_a_small_laptop(viewer: Any, docked: InspectWidget, qtbot: Any) -> None:
    for tab in range(docked.tabs.count()):
        docked.tabs.setCurrentIndex(tab)
        qtbot.wait(50)
        assert viewer.window._qt_window.width() <= 1366
        assert viewer.window._qt_window.height() <= 768
        assert docked.minimumSizeHint().width() <= 340
