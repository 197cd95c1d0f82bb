"""Networks as methods, with tiny models made here."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmark_data import calibration, scene_of

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.scene import render_capture
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.onnx_model import OnnxModel

onnx = pytest.importorskip("onnx", reason="models are made with the package onnx")
pytest.importorskip("onnxruntime", reason="models are run by the extra onnx")


@pytest.fixture(scope="module")
def captured() -> tuple[DualPixelCapture, Calibration]:
    return render_capture(scene_of(1), name="001"), calibration()


def save(path: Path, nodes: list, inputs: dict, outputs: dict, weights: tuple = ()) -> Path:
    """A model of a few nodes; shapes of inputs and outputs by name."""
    of = onnx.helper.make_tensor_value_info
    values = [
        [of(name, onnx.TensorProto.FLOAT, shape) for name, shape in group.items()]
        for group in (inputs, outputs)
    ]
    graph = onnx.helper.make_graph(nodes, "tiny", *values, initializer=list(weights))
    opset = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    return path


def mean_and_difference(path: Path, size: tuple = ("h", "w")) -> Path:
    """One input (1, 2, H, W); the mean of the views and left minus right, by a 1 x 1 filter."""
    filters = np.array([[0.5, 0.5], [1.0, -1.0]], np.float32)[..., None, None]
    weight = onnx.numpy_helper.from_array(filters, "filters")
    nodes = [
        onnx.helper.make_node("Conv", ["views", "filters"], ["both"]),
        onnx.helper.make_node("Split", ["both"], ["sharp", "defocus"], axis=1),
    ]
    outputs = {"sharp": [1, 1, *size], "defocus": [1, 1, *size]}
    return save(path, nodes, {"views": [1, 2, *size]}, outputs, (weight,))


def test_a_model_with_one_input_and_two_outputs(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    model = OnnxModel(mean_and_difference(tmp_path / "tiny.onnx"))
    prediction = model(*captured)
    left, right = captured[1].prepare(captured[0])
    np.testing.assert_allclose(prediction.all_in_focus, (left + right) / 2, atol=1e-6)
    np.testing.assert_allclose(prediction.defocus_map, (left - right)[0], atol=1e-6)
    assert model.signature("001") == model.signature("002")


def test_a_model_with_an_input_for_each_view(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    shape = [1, 1, "h", "w"]
    nodes = [onnx.helper.make_node("Sub", ["left", "right"], ["disparity_map"])]
    inputs = {"left": shape, "right": shape}
    path = save(tmp_path / "tiny.onnx", nodes, inputs, {"disparity_map": shape})
    prediction = OnnxModel(path)(*captured)
    left, right = captured[1].prepare(captured[0])
    np.testing.assert_allclose(prediction.defocus_map, (left - right)[0], atol=1e-6)
    assert prediction.all_in_focus is None


def test_sizes_that_cannot_be_halved_are_padded(tmp_path: Path) -> None:
    from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    capture, lens = render_capture(synthetic_scene(50, 70)), synthetic_calibration(50, 70, 1, 1)
    # pooling by 16 and enlarging again works only for multiples of 16
    nodes = [
        onnx.helper.make_node("Add", ["left", "right"], ["sum"]),
        onnx.helper.make_node(
            "MaxPool", ["sum"], ["small"], kernel_shape=[16, 16], strides=[16, 16]
        ),
        onnx.helper.make_node("Resize", ["small", "", "scales"], ["large"], mode="nearest"),
        onnx.helper.make_node("Add", ["sum", "large"], ["image"]),
    ]
    scales = onnx.numpy_helper.from_array(np.array([1, 1, 16, 16], np.float32), "scales")
    shape = [1, 1, "h", "w"]
    path = tmp_path / "tiny.onnx"
    save(path, nodes, {"left": shape, "right": shape}, {"image": shape}, (scales,))
    assert OnnxModel(path)(capture, lens).all_in_focus.shape == (1, 50, 70)


def test_a_model_of_another_size(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    model = OnnxModel(mean_and_difference(tmp_path / "tiny.onnx", size=(64, 64)))
    with pytest.raises(EvaluationError, match=r"cannot be run on views of 96 x 128 px \(.*dynamic"):
        model(*captured)


def test_a_model_with_three_inputs(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    shape = [1, 1, "h", "w"]
    nodes = [onnx.helper.make_node("Sum", ["a", "b", "c"], ["image"])]
    inputs = dict.fromkeys("abc", shape)
    path = save(tmp_path / "tiny.onnx", nodes, inputs, {"image": shape})
    with pytest.raises(EvaluationError, match="has 3 inputs; export it with one input for both"):
        OnnxModel(path)(*captured)


def test_files_that_are_no_models(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    path = tmp_path / "not.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(EvaluationError, match="cannot be loaded; use a file in the ONNX format"):
        OnnxModel(path)(*captured)
    with pytest.raises(EvaluationError, match="cannot be read: No such file"):
        OnnxModel(tmp_path / "nowhere.onnx")(*captured)


def test_without_onnxruntime(
    tmp_path: Path,
    captured: tuple[DualPixelCapture, Calibration],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    path = mean_and_difference(tmp_path / "tiny.onnx")
    with pytest.raises(EvaluationError, match="require onnxruntime; install it with pip"):
        OnnxModel(path)(*captured)
