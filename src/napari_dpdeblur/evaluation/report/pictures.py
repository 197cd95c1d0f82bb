"""Images of the report, with one tone curve and one colour scale per scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray, Picture
from napari_dpdeblur.evaluation.alignment import Alignment
from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.evaluation.ground_truth import UNSIGNED, DefocusTruth
from napari_dpdeblur.evaluation.metrics import affine_fit
from napari_dpdeblur.evaluation.scoring import Truth
from napari_dpdeblur.results.defocus_colors import ColorScale, color_scale, sequential_scale
from napari_dpdeblur.results.preview import tone_curve, white_point

IMAGE_ERROR_SHOWN = 0.15  # end of the colour scale, relative to the maximum of the ground truth
MAP_ERROR_SHOWN = 0.3  # end of the colour scale, relative to the range of the ground truth
NO_CONFIDENCE = (52, 52, 58)
RESIDUAL_SHOWN = 3.0  # end of the colour scale, in multiples of the noise
IMAGE, IMAGE_ERROR, MAP, MAP_ERROR = "image", "image error", "defocus", "defocus error"
RESIDUAL, LAYERS = "residual", "layers"
KINDS = (IMAGE, IMAGE_ERROR, MAP, MAP_ERROR, RESIDUAL, LAYERS)


@dataclass(frozen=True)
class ScenePictures:
    """Renders the images of one scene; ``captured`` (C, H, W) is the mean of both views."""

    captured: FloatArray
    truth: Truth

    @cached_property
    def white(self) -> float:
        """The linear value shown as white."""
        return white_point(self.captured if isinstance(self.truth.sharp, str) else self.truth.sharp)

    @cached_property
    def defocus_scale(self) -> ColorScale:
        """Colours of all maps that are on the scale of the ground truth."""
        if isinstance(self.truth.defocus, str):
            return sequential_scale(0.0, 1.0)
        truth = self.truth.defocus
        return color_scale(np.where(truth.confidence > 0, truth.defocus, np.nan))

    def of_input(self) -> dict[str, Picture]:
        """Image of the capture."""
        return {IMAGE: tone_curve(self.captured, self.white)}

    def of_truth(self) -> dict[str, Picture]:
        """Images of the ground truth, as far as available."""
        pictures = {}
        if not isinstance(self.truth.sharp, str):
            pictures[IMAGE] = tone_curve(self.truth.sharp, self.white)
        if not isinstance(self.truth.defocus, str):
            colored = self.defocus_scale.paint(self.truth.defocus.defocus)
            pictures[MAP] = _masked(colored, self.truth.defocus)
        return pictures

    def of_method(
        self, prediction: Prediction, alignment: list[list[float]] | None
    ) -> dict[str, Picture]:
        """Aligned images of a method and its errors; images of another size are skipped."""
        pictures: dict[str, Picture] = {}
        image, defocus_map = prediction.all_in_focus, prediction.defocus_map
        if image is not None and image.shape == self.captured.shape:
            pictures |= self._of_image(image, alignment)
        if defocus_map is not None and defocus_map.shape == self.captured.shape[1:]:
            pictures |= self._of_map(np.nan_to_num(defocus_map))
        residual = prediction.residual
        if residual is not None and residual.shape == self.captured.shape[1:]:
            pictures[RESIDUAL] = _error_colors(residual, RESIDUAL_SHOWN)
        return pictures

    def _of_image(
        self, image: FloatArray, alignment: list[list[float]] | None
    ) -> dict[str, Picture]:
        matrix = np.eye(2, 3) if alignment is None else np.array(alignment)
        laid = Alignment(matrix).apply(np.nan_to_num(image))
        pictures = {IMAGE: tone_curve(laid, self.white)}
        truth = self.truth.sharp
        if not isinstance(truth, str) and truth.shape == laid.shape:
            pictures[IMAGE_ERROR] = _image_error(laid, truth)
        return pictures

    def _of_map(self, defocus_map: FloatArray) -> dict[str, Picture]:
        truth = self.truth.defocus
        if not isinstance(truth, str) and truth.defocus.shape != defocus_map.shape:
            return {}
        if isinstance(truth, str):
            low, high = np.percentile(defocus_map, (0.5, 99.5))
            return {MAP: color_scale(defocus_map, (float(low), float(high))).paint(defocus_map)}
        fitted = _on_scale_of(truth, defocus_map)
        error = np.abs(fitted - truth.defocus)
        return {
            MAP: self.defocus_scale.paint(fitted),
            MAP_ERROR: _masked(_error_colors(error, MAP_ERROR_SHOWN), truth),
        }


def _on_scale_of(truth: DefocusTruth, defocus_map: FloatArray) -> npt.NDArray[np.float64]:
    """Affine fit of a defocus map to the ground truth, as in AIWE(2)."""
    shown = np.abs(defocus_map) if truth.sign == UNSIGNED else defocus_map
    values = shown.astype(np.float64).ravel()
    target = truth.defocus.astype(np.float64).ravel()
    weight = truth.confidence.astype(np.float64).ravel()
    if not weight.any():
        return shown.astype(np.float64)
    return affine_fit(values, target, weight).reshape(defocus_map.shape)


def _image_error(image: FloatArray, truth: FloatArray) -> Picture:
    error = np.abs(image - truth).mean(axis=0) / max(float(truth.max()), 1e-12)
    return _error_colors(error, IMAGE_ERROR_SHOWN)


def _error_colors(error: npt.NDArray[np.floating], highest: float) -> Picture:
    unit = np.clip(np.nan_to_num(error) / highest, 0.0, 1.0)
    colored = cv2.applyColorMap(np.round(255 * unit).astype(np.uint8), cv2.COLORMAP_INFERNO)
    return np.asarray(colored[..., ::-1], np.uint8)


def _masked(picture: Picture, truth: DefocusTruth) -> Picture:
    """Grey out pixels without ground truth."""
    mask = truth.confidence[..., np.newaxis] > 0
    return np.where(mask, picture, np.array(NO_CONFIDENCE, np.uint8))
