"""The Evaluate panel: layers in, numbers and an error map out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from napari_dpdeblur.results import Result

pytest.importorskip("napari")
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication

from napari_dpdeblur.evaluation import defocus_scores, image_scores
from napari_dpdeblur.viewer.evaluate.scores import LABELS
from napari_dpdeblur.viewer.evaluate.widget import EvaluateWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import defocus_layer, image_layer, run_layers
from napari_dpdeblur.viewer.layers.metadata import TRUE_DEFOCUS, TRUE_IMAGE, LayerInfo
from napari_dpdeblur.viewer.layers.placement import run_placement

HEIGHT, WIDTH = 96, 128
PATIENCE_MS = 60_000  # for a machine that has other things to do


@pytest.fixture(autouse=True)
def _no_popups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are read from the panel; napari would print them as well."""
    monkeypatch.setattr("napari.utils.notifications.notification_manager.dispatch", lambda _: None)


@pytest.fixture
def widget(viewer_model: Any, qtbot: Any) -> Iterator[EvaluateWidget]:
    widget = EvaluateWidget(viewer_model)
    qtbot.addWidget(widget)
    yield widget
    widget.close_down()


@pytest.fixture
def scene(make_result: Callable[..., Result]) -> tuple[list[Any], Result, Any, Any]:
    """Layers of a result with its truth, the result, and the true image and map."""
    result = make_result()
    random = np.random.default_rng(5)
    image = result.all_in_focus + random.normal(0, 0.02, (1, HEIGHT, WIDTH)).astype(np.float32)
    image = np.clip(image, 0, None)
    defocus = np.clip(0.4 * result.defocus_map + 0.1, 0, 1)
    defocus += random.normal(0, 0.01, defocus.shape).astype(np.float32)
    defocus[:20] = 0  # not known
    placed = run_placement(result.provenance)
    truths = [
        defocus_layer(defocus, LayerInfo(TRUE_DEFOCUS, "scene"), placed),
        image_layer(image, LayerInfo(TRUE_IMAGE, "scene"), placed),
    ]
    return [*truths, *run_layers(result)], result, image, defocus


def _numbers(widget: EvaluateWidget) -> dict[str, str]:
    return {name: widget.table.item(row, 0).text() for row, name in enumerate(LABELS)}


def _evaluate(widget: EvaluateWidget, qtbot: Any, result: str, truth: str) -> dict[str, str]:
    widget.result.setCurrentText(result)
    widget.truth.setCurrentText(truth)
    qtbot.mouseClick(widget.run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not widget.is_busy, timeout=PATIENCE_MS)
    return _numbers(widget)


def test_six_numbers_and_error_maps(
    viewer_model: Any, widget: EvaluateWidget, scene: Any, qtbot: Any
) -> None:
    layers, result, image, defocus = scene
    put_layers(viewer_model, layers)
    assert widget.result.currentText() == "scene all-in-focus"
    assert widget.truth.currentText() == "scene true all-in-focus"
    shown = _evaluate(widget, qtbot, "scene all-in-focus", "scene true all-in-focus")
    expected = image_scores(result.all_in_focus, image)
    assert shown["psnr_db"] == f"{expected.psnr_db:.4f}"
    assert shown["ssim"] == f"{expected.ssim:.4f}"
    assert shown["mae"] == f"{expected.mae:.4f}"
    assert shown["aiwe1"] == "-"
    error = viewer_model.layers["scene all-in-focus error"]
    assert error.data.shape == (HEIGHT, WIDTH)
    inside = np.asarray(error.data)[8:-8, 8:-8]
    assert inside.mean() == pytest.approx(expected.mae, rel=1e-4)

    widget.result.setCurrentText("scene defocus map")
    assert widget.truth.currentText() == "scene true defocus map"
    shown = _evaluate(widget, qtbot, "scene defocus map", "scene true defocus map")
    scores = defocus_scores(result.defocus_map, defocus, defocus > 0)
    assert shown["aiwe1"] == f"{scores.aiwe1:.4f}"
    assert shown["aiwe2"] == f"{scores.aiwe2:.4f}"
    assert shown["one_minus_spearman"] == f"{scores.one_minus_spearman:.4f}"
    assert shown["psnr_db"] == f"{expected.psnr_db:.4f}"  # of the same scene
    error = viewer_model.layers["scene defocus map error"].data
    assert np.isnan(error[:20]).all()
    assert np.sqrt(np.nanmean(np.square(error))) == pytest.approx(scores.aiwe2, rel=1e-3)
    widget.copy.click()
    assert f"AIWE(1)\t{shown['aiwe1']}" in QApplication.clipboard().text()


def test_a_signed_truth_scores_the_sign_and_knows_what_is_in_focus(
    viewer_model: Any, widget: EvaluateWidget, qtbot: Any
) -> None:
    truth = np.tile(np.linspace(-0.8, 0.8, WIDTH, dtype=np.float32), (HEIGHT, 1))
    truth[:10] = 0.0  # in focus
    truth[-10:] = np.nan
    predicted = np.nan_to_num(truth)
    predicted[40:60] *= -1
    viewer_model.add_image(predicted, name="map")
    viewer_model.add_image(truth, name="truth")
    widget.mode.setCurrentText("Defocus maps")
    shown = _evaluate(widget, qtbot, "map", "truth")
    scores = defocus_scores(predicted, truth, np.isfinite(truth), "signed")
    assert scores.right_sign == pytest.approx(1 - 20 / (HEIGHT - 20))
    assert shown["right_sign"] == f"{scores.right_sign:.4f}"
    assert shown["aiwe1"] == f"{scores.aiwe1:.4f}"
    assert "over 90 % of the pixels" in widget.message.text()
    error = viewer_model.layers["map error"].data
    assert np.isfinite(error[:10]).all()
    assert np.isnan(error[-10:]).all()

    widget.mode.setCurrentText("Defocus maps, true one unsigned")
    shown = _evaluate(widget, qtbot, "map", "truth")
    assert shown["right_sign"] == "-", "that of the earlier comparison is gone"
    assert float(shown["aiwe1"]) == pytest.approx(0, abs=1e-4)


def test_layers_of_others(viewer_model: Any, widget: EvaluateWidget, qtbot: Any) -> None:
    random = np.random.default_rng(1)
    truth = random.integers(0, 65535, (60, 70, 3), dtype=np.uint16)
    viewer_model.add_image(truth, rgb=True, name="truth")
    viewer_model.add_image((truth / 65535).astype(np.float32), rgb=True, name="same")
    shown = _evaluate(widget, qtbot, "same", "truth")
    assert float(shown["psnr_db"]) > 80
    assert float(shown["mae"]) < 1e-4
    viewer_model.add_image(random.uniform(size=(60, 70)), name="grey")
    _evaluate(widget, qtbot, "grey", "truth")
    assert "has shape (1, 60, 70), but the ground truth has (3, 60, 70)" in widget.message.text()
    widget.mode.setCurrentText("Defocus maps")
    _evaluate(widget, qtbot, "same", "truth")
    assert "A colour image cannot be compared as a defocus map" in widget.message.text()
    assert widget.run.isEnabled()


def test_truth_of_the_whole_frame(viewer_model: Any, widget: EvaluateWidget, qtbot: Any) -> None:
    whole = np.random.default_rng(2).uniform(size=(80, 90)).astype(np.float32)
    viewer_model.add_image(whole, name="frame")
    viewer_model.add_image(whole[10:60, 20:80], translate=(10, 20), name="part")
    assert float(_evaluate(widget, qtbot, "part", "frame")["mae"]) < 1e-3


def test_what_is_wrong_is_said(viewer_model: Any, widget: EvaluateWidget, qtbot: Any) -> None:
    assert "Evaluation needs two image layers" in widget.message.text()
    assert not widget.run.isEnabled()
    viewer_model.add_image(np.ones((40, 40)), name="one")
    viewer_model.add_image(np.full((40, 40), np.nan), name="empty")
    viewer_model.add_image(np.ones((3, 40, 40)), name="stack")
    widget.evaluate()
    _evaluate(widget, qtbot, "one", "one")
    assert "are the same layer; choose two" in widget.message.text()
    _evaluate(widget, qtbot, "stack", "one")
    assert "The layer stack is not a 2-D image" in widget.message.text()
    _evaluate(widget, qtbot, "empty", "one")
    assert "1600 pixels that are not finite" in widget.message.text()
    viewer_model.layers.clear()
    assert "Evaluation needs two image layers" in widget.message.text()
    widget.evaluate()
    assert not widget.is_busy


def test_layer_deleted_while_comparing(
    viewer_model: Any, widget: EvaluateWidget, scene: Any, qtbot: Any
) -> None:
    put_layers(viewer_model, scene[0])
    widget.result.setCurrentText("scene defocus map")
    widget.evaluate()
    viewer_model.layers.clear()
    qtbot.waitUntil(lambda: not widget.is_busy, timeout=PATIENCE_MS)
    assert [layer.name for layer in viewer_model.layers] == ["scene defocus map error"]


def test_in_a_window(viewer: Any, scene: Any, qtbot: Any) -> None:
    put_layers(viewer, scene[0])
    widget = EvaluateWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Evaluate", area="right")
    viewer.window._qt_window.resize(1366, 740)
    _evaluate(widget, qtbot, "scene defocus map", "scene true defocus map")
    assert viewer.layers["scene defocus map error"].visible
    assert widget.minimumSizeHint().width() <= 400
    for control in (widget.result, widget.truth, widget.mode, widget.run, widget.copy):
        assert control.toolTip()
        assert control.objectName().startswith("evaluate_")
        assert control.focusPolicy() != Qt.FocusPolicy.NoFocus
    viewer.window.remove_dock_widget(widget)
    viewer.layers.clear()  # nobody listens any more


@pytest.mark.parametrize("gain", [0.4, 2.5])
def test_a_truth_of_another_brightness_is_compared_in_one_unit(
    viewer_model: Any, widget: EvaluateWidget, scene: Any, qtbot: Any, gain: float
) -> None:
    """On the old code the sample was judged 12.85 dB because its truth was brighter."""
    layers, result, image, _ = scene
    put_layers(viewer_model, layers)
    same = _evaluate(widget, qtbot, "scene all-in-focus", "scene true all-in-focus")
    assert "multiplied" not in widget.message.text()
    truth = viewer_model.layers["scene true all-in-focus"]
    truth.data = gain * truth.data
    other = _evaluate(widget, qtbot, "scene all-in-focus", "scene true all-in-focus")
    assert float(other["psnr_db"]) == pytest.approx(float(same["psnr_db"]), abs=0.2)
    ratio = image.mean() / result.all_in_focus.mean()
    said = f"brightness of the result multiplied by {gain * ratio:.3g}"
    assert said in widget.message.text()
