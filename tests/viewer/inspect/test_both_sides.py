"""Inspecting a result on both sides of the focus plane: read-out, marks, colours, refocus, 3D."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result
from napari_dpdeblur.results.defocus_colors import diverging_scale
from napari_dpdeblur.results.refocus.mesh import layer_meshes
from napari_dpdeblur.results.refocus.movie_frames import focus_sweep

pytest.importorskip("napari")

from napari_dpdeblur.viewer.inspect.color_bar import DefocusBar, colors_of
from napari_dpdeblur.viewer.inspect.refocus_view import RefocusRenderers, focus_range
from napari_dpdeblur.viewer.inspect.widget import InspectWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.layers.metadata import DEFOCUS_MAP
from napari_dpdeblur.viewer.layers.queries import layer_of
from napari_dpdeblur.viewer.layers.units import side_text

HEIGHT, WIDTH = 96, 128
SCALES = np.array([0.8, 0.0, -0.4])
WALL, SUBJECT, FENCE = (5, 5), (40, 50), (5, 105)  # row and column of the three layers


@pytest.fixture
def signed(make_result: Callable[..., Result], calibration: Calibration) -> Result:
    """A wall behind the focus, a square in focus and a strip in front; the lens is known."""
    alpha = np.zeros((3, 1, HEIGHT, WIDTH), np.float32)
    alpha[0] = 1
    alpha[1, 0, 20:70, 30:90] = 1
    alpha[2, 0, :, 100:110] = 1
    color = np.random.default_rng(3).uniform(0.05, 0.5, alpha.shape).astype(np.float32)
    mpi = MultiplaneImage(color, alpha, SCALES)
    return replace(
        make_result(layers=3),
        mpi=mpi,
        all_in_focus=mpi.all_in_focus(),
        defocus_map=mpi.defocus_map().astype(np.float32),
        calibration=replace(calibration, lens_constants=(2.0, -1.0)),
    )


@pytest.fixture
def widget(viewer_model: Any, signed: Result, qtbot: Any) -> Iterator[InspectWidget]:
    put_layers(viewer_model, run_layers(signed))
    made = InspectWidget(viewer_model)
    qtbot.addWidget(made)
    yield made
    made.close_down()


def _hover(viewer: Any, pixel: tuple[int, int]) -> None:
    viewer.cursor.position = (0.0, *pixel)
    for callback in viewer.mouse_move_callbacks:
        callback(viewer, None)


@pytest.mark.parametrize(
    ("pixel", "text"),
    [
        (WALL, "Defocus 0.80 behind, distance 0.833 m"),
        (SUBJECT, "In focus, distance 0.5 m"),
        (FENCE, "Defocus 0.40 in front, distance 0.417 m"),
    ],
)
def test_the_reading_names_the_side(
    viewer_model: Any, widget: InspectWidget, pixel: tuple[int, int], text: str
) -> None:
    _hover(viewer_model, pixel)
    assert widget.reading.text().splitlines()[0] == text


def test_the_layer_browser_names_the_side(widget: InspectWidget) -> None:
    texts = []
    for layer in range(3):
        widget.layers_panel.slider.setValue(layer)
        texts.append(widget.layers_panel.text.text().splitlines()[1].split(",")[0])
    assert texts == ["Defocus 0.80 behind", "In focus", "Defocus 0.40 in front"]


@pytest.mark.parametrize(
    ("defocus", "text"),
    [
        (0.42, "0.42 behind"),
        (-0.31, "0.31 in front"),
        (0.0, "in focus"),
        (-0.015, "in focus"),
        (0.021, "0.02 behind"),
    ],
)
def test_sides_in_words(defocus: float, text: str) -> None:
    assert side_text(defocus) == text


def test_the_focus_plane_is_marked_where_the_handle_would_be(
    widget: InspectWidget, qtbot: Any
) -> None:
    widget.resize(360, 700)
    widget.show()
    qtbot.waitExposed(widget)
    panel = widget.layers_panel
    assert widget.source is not None
    assert widget.source.focus_layer == 1.0
    middle = panel.slider.mapTo(panel, panel.slider.rect().center()).x()
    mark = panel.ruler.position_px()
    assert mark is not None
    assert panel.ruler.mapTo(panel, panel.ruler.rect().topLeft()).x() + mark == pytest.approx(
        middle, abs=2
    )
    assert panel.ruler.isVisible()
    assert panel.ruler.grab().toImage().pixelColor(round(mark), 1).alpha() > 0


def test_the_focus_lies_between_two_layers(
    viewer_model: Any, signed: Result, widget: InspectWidget
) -> None:
    mpi = replace(signed.mpi, defocus_scales=np.array([0.6, 0.3, -0.1]))
    put_layers(viewer_model, run_layers(replace(signed, mpi=mpi)))
    widget._on_choice()
    assert widget.source is not None
    assert widget.source.focus_layer == pytest.approx(1.75)


def test_a_scene_behind_the_focus_has_no_mark(
    viewer_model: Any, make_result: Callable[..., Result], qtbot: Any
) -> None:
    put_layers(viewer_model, run_layers(make_result()))
    widget = InspectWidget(viewer_model)
    qtbot.addWidget(widget)
    assert widget.source is not None
    assert widget.source.focus_layer is None
    assert widget.layers_panel.ruler.isHidden()
    assert widget.bar.position_px(0.0) is None
    assert widget.bar.labels() == ("0.10 behind", "1.40 behind")
    widget.close_down()


def test_the_colour_bar_has_the_focus_in_its_middle(qtbot: Any) -> None:
    bar = DefocusBar(lambda: diverging_scale(-0.4, 0.8))
    qtbot.addWidget(bar)
    bar.resize(301, bar.height())
    assert bar.labels() == ("0.80 in front", "0.80 behind")
    assert bar.position_px(0.0) == pytest.approx(150.5)
    assert bar.position_px(0.9) is None
    before = bar.grab().toImage()
    colors = [before.pixelColor(x, 10) for x in (8, 150, 292)]
    front, focus, behind = ([c.red(), c.green(), c.blue()] for c in colors)
    assert focus == pytest.approx([238] * 3, abs=5)
    assert front[0] > front[2]
    assert behind[0] < behind[2]
    bar.show_value(-0.4)
    assert bar.grab().toImage() != before
    bar.show_value(None)
    assert bar.grab().toImage() == before


def test_the_pixel_under_the_cursor_is_marked_on_the_colour_bar(
    viewer_model: Any, widget: InspectWidget
) -> None:
    before = widget.bar.grab().toImage()
    _hover(viewer_model, FENCE)
    assert widget.bar.grab().toImage() != before
    _hover(viewer_model, (-20, 5))
    assert widget.bar.grab().toImage() == before


def test_the_colour_bar_follows_the_layer(viewer_model: Any, widget: InspectWidget) -> None:
    layer = layer_of(viewer_model, "scene", DEFOCUS_MAP)
    layer.colormap, layer.contrast_limits = "gray", (-0.2, 0.6)
    assert widget.bar.labels() == ("0.20 in front", "0.60 behind")
    viewer_model.layers.remove(layer)
    colors = colors_of(widget.source, viewer_model)
    assert colors is not None
    assert (colors.name, colors.limits) == ("front-focus-behind", (-0.8, 0.8))


def test_the_focus_slider_covers_both_sides_and_starts_at_the_captured_focus(
    widget: InspectWidget,
) -> None:
    assert widget.source is not None
    assert focus_range(widget.source) == pytest.approx((-0.7, 1.1))
    slider = widget.refocus_panel.focus
    assert (slider.minimum(), slider.maximum()) == pytest.approx((-0.7, 1.1))
    assert slider.value() == 0.0
    assert not widget.refocus_panel.ruler.isHidden()


def test_a_sweep_of_the_focus_runs_from_the_nearest_to_the_farthest(widget: InspectWidget) -> None:
    assert widget.source is not None
    sweep = focus_sweep(widget.source.stack, widget.refocus_panel.shot, 3)
    assert [shot.focus for shot in sweep] == pytest.approx([-0.4, 0.2, 0.8])


def test_a_click_on_the_front_brings_it_into_focus(
    viewer_model: Any, widget: InspectWidget, signed: Result
) -> None:
    assert widget.source is not None
    renderers = RefocusRenderers(widget.source, widget.refocus_panel.lens)
    widget.refocus_panel.focus_at(widget.source.defocus_at(*FENCE))
    shot = widget.refocus_panel.shot
    assert shot.focus == pytest.approx(-0.4)
    picture = renderers.exact().render(shot)
    np.testing.assert_allclose(
        picture[0, :, 100:110], signed.mpi_color[2, 0, :, 100:110], atol=1e-5
    )


def test_in_3d_nearer_is_nearer(widget: InspectWidget) -> None:
    assert widget.source is not None
    meshes = layer_meshes(widget.source.stack)
    vertices, _ = widget.depth_panel._mesh(widget.source, meshes)
    towards = vertices.reshape(3, 4, 3)[:, 0, 0] * widget.depth_panel._toward_viewer()
    assert (np.diff(towards) > 0).all()
    gaps = np.diff(towards)
    assert gaps[0] == pytest.approx(2 * gaps[1])  # 0.8 to 0.0, 0.0 to -0.4
