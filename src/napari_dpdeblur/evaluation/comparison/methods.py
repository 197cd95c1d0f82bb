"""Methods of the comparison: baselines, fits, external results, ONNX models."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from napari_dpdeblur import __version__
from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines import BASELINES, Prediction, baseline
from napari_dpdeblur.evaluation.baselines.external import ExternalResults
from napari_dpdeblur.evaluation.baselines.onnx_model import OnnxModel
from napari_dpdeblur.evaluation.baselines.prediction import LayerPictures
from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.results.preview import tone_curve, white_point

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.evaluation.baselines.prediction import Method
    from napari_dpdeblur.fitting import FitSettings
    from napari_dpdeblur.results import Result

# The published optimisation takes a day per scene, so it is not run by default.
DEFAULT_METHODS = (*BASELINES, "preview", "standard")
ESTIMATED_METHODS = ("standard@one", "standard@several")  # see comparison/estimated_lens.py
KNOWN_METHODS = (*BASELINES, *PRESETS)
LAYER_SIDE_PX = 480  # of the layers in a report


@dataclass(frozen=True)
class NamedMethod:
    """A method: ``name`` for files, ``label`` for tables, ``predict`` to run it on a capture.

    ``signature(scene)`` changes when a stored result is no longer valid.
    """

    name: str
    label: str
    predict: Method
    signature: Callable[[str], str]


def known_method(name: str) -> NamedMethod:
    """A baseline or a preset of the fit by name."""
    if name in BASELINES:
        identity = f"{name} {__version__}"
        return NamedMethod(name, BASELINES[name].label, _deferred(name), lambda scene: identity)
    if name in PRESETS:
        return fit_method(name, f"napari-dpdeblur, {name}", {"preset": name})
    raise EvaluationError(f"Unknown method {name}; choose from {', '.join(KNOWN_METHODS)}.")


def fit_method(
    name: str, label: str, values: dict[str, Any], crop: Crop | None = None
) -> NamedMethod:
    """The fit with the given settings as a method."""
    identity = json.dumps([__version__, values, crop], sort_keys=True)

    def predict(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        return fit_prediction(capture, calibration, values, crop)

    return NamedMethod(name, label, predict, lambda scene: identity)


def fit_prediction(
    capture: DualPixelCapture, calibration: Calibration, values: dict[str, Any], crop: Crop | None
) -> Prediction:
    """What a fit with the given settings computes."""
    from napari_dpdeblur.fitting import FitSettings, fit

    settings: FitSettings = FitSettings.of(values)
    result = fit(capture, calibration, settings, crop=crop, progress=False)
    layers = layer_pictures(result)
    return Prediction(result.all_in_focus, result.defocus_map, result.residual, layers)


def layer_pictures(result: Result) -> LayerPictures:
    """The layers of a result, reduced for a report."""
    white = white_point(result.all_in_focus)
    height, width = result.defocus_map.shape
    factor = min(LAYER_SIDE_PX / max(height, width), 1.0)
    size = max(round(width * factor), 1), max(round(height * factor), 1)
    pictures = []
    for color, alpha in zip(result.mpi_color, result.mpi_alpha, strict=True):
        # Reduced with the light that they send, so that hidden colours do not show.
        light, cover = (_reduced(np.asarray(a), size) for a in (color * alpha, alpha))
        shown = tone_curve(light / np.maximum(cover, 1e-6), white)
        pictures.append(np.dstack([shown, np.round(255 * cover[0]).astype(np.uint8)]))
    return LayerPictures(np.stack(pictures), np.asarray(result.defocus_scales, np.float32))


def _reduced(image: FloatArray, size: tuple[int, int]) -> FloatArray:
    planes = [cv2.resize(plane, size, interpolation=cv2.INTER_AREA) for plane in image]
    return np.stack(planes)


def external_method(name: str, images: Path | None, maps: Path | None) -> NamedMethod:
    """Results of another program as a method."""
    results = ExternalResults(images, maps)
    return NamedMethod(name, name, results, results.signature)


def onnx_method(name: str, path: Path) -> NamedMethod:
    """An ONNX model as a method."""
    model = OnnxModel(path)
    return NamedMethod(name, name, model, model.signature)


def _deferred(name: str) -> Method:
    """A baseline that is imported on first use."""

    def predict(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        return baseline(name)(capture, calibration)

    return predict
