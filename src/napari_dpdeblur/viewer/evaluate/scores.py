"""Compare two layers: scores and an error map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.viewer.layers.convert import linear_image, make_layer
from napari_dpdeblur.viewer.layers.metadata import (
    DEFOCUS_MAP,
    TRUE_DEFOCUS,
    LayerData,
    LayerInfo,
    layer_info,
)
from napari_dpdeblur.viewer.layers.placement import placement

ERROR_MAP = "error map"
IMAGE, MAP, UNSIGNED_MAP = "image", "map", "unsigned map"
LABELS = {
    "psnr_db": ("PSNR (dB)", "Peak signal-to-noise ratio of the aligned images; higher is better."),
    "ssim": ("SSIM", "Structural similarity of the aligned images; 1 is perfect."),
    "mae": ("MAE", "Mean absolute error relative to the brightest true value; 0 is perfect."),
    "aiwe1": ("AIWE(1)", "Mean absolute error of the map after an affine fit; 0 is perfect."),
    "aiwe2": ("AIWE(2)", "Root mean square error of the map after an affine fit; 0 is perfect."),
    "one_minus_spearman": ("1 - |rank corr.|", "1 minus the rank correlation; 0 is perfect."),
    "right_sign": (
        "Right sign",
        "Fraction of the pixels on the right side of the focus plane, if the ground truth has "
        "negative values; 1 is perfect.",
    ),
}
MAP_SCORES = ("aiwe1", "aiwe2", "one_minus_spearman", "right_sign")
SHOWN_PERCENTILE = 99.0
MAX_GAIN = 1.1  # ratio of mean brightness from which on two images count as of different units


@dataclass(frozen=True, eq=False)
class ComparedLayer:
    """A layer as it was when the comparison began."""

    name: str
    kind: str  # empty for layers of others
    group: str
    values: np.ndarray  # (C, H, W), linear
    scale: tuple[float, float]
    translate: tuple[float, float]

    @classmethod
    def of(cls, layer: Any) -> ComparedLayer:
        """Take an image or a map; EvaluationError for a stack."""
        info = layer_info(layer) or LayerInfo("", layer.name)
        scale, translate = tuple(layer.scale[-2:]), tuple(layer.translate[-2:])
        return cls(layer.name, info.kind, info.group, _values(layer), scale, translate)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores by name, a remark on the alignment, and the error map as a layer."""

    values: dict[str, float]
    remark: str
    error_layer: LayerData


def guess_mode(kind: str) -> str:
    """Whether layers of this kind are compared as images or as defocus maps."""
    return MAP if kind in (DEFOCUS_MAP, TRUE_DEFOCUS) else IMAGE


def compare(result: ComparedLayer, truth: ComparedLayer, mode: str) -> Comparison:
    """Score ``result`` against ``truth``, as image or as map."""
    predicted, expected = _same_part(result, truth)
    if mode == IMAGE:
        values, error, remark = _compare_images(predicted, expected)
    else:
        values, error, remark = _compare_maps(predicted, expected, mode == UNSIGNED_MAP)
    shown = float(np.nanpercentile(error, SHOWN_PERCENTILE)) if np.isfinite(error).any() else 1.0
    info = LayerInfo(
        f"{ERROR_MAP} of {result.name}",
        result.group,
        compared=(result.name, truth.name),
        scores=values,
    )
    layer = make_layer(
        error.astype(np.float32),
        info,
        placement(result.scale, result.translate),
        colormap="inferno",
        contrast_limits=(0.0, max(shown, 1e-6)),
    )
    layer[1]["name"] = f"{result.name} error"
    return Comparison(values, remark, layer)


def _compare_images(
    image: np.ndarray, truth: np.ndarray
) -> tuple[dict[str, float], np.ndarray, str]:
    from napari_dpdeblur.evaluation.metrics import image_scores

    gain = _gain(image, truth)
    image = image * np.float32(gain)
    scores = image_scores(image, truth)
    aligned = scores.alignment.apply(image)
    error = np.abs(aligned - truth).mean(axis=0) / float(truth.max())
    moved_px = scores.alignment.corner_shift_px(*truth.shape[-2:])
    remark = scores.alignment.warning or f"aligned; corners moved by up to {moved_px:.1f} px"
    if gain != 1.0:
        remark += f"; brightness of the result multiplied by {gain:.3g} to match that of the truth"
    return {"psnr_db": scores.psnr_db, "ssim": scores.ssim, "mae": scores.mae}, error, remark


def _gain(image: np.ndarray, truth: np.ndarray) -> float:
    """Factor from the unit of an image to that of the truth; 1 if both have the same unit.

    The ratio of the means, which needs no alignment. Below MAX_GAIN, a difference is an error of
    the image, not another unit.
    """
    mean = float(image.mean())
    gain = float(truth.mean()) / mean if mean > 0 else 1.0
    return gain if max(gain, 1 / max(gain, 1e-12)) > MAX_GAIN else 1.0


def _compare_maps(
    prediction: np.ndarray, truth: np.ndarray, is_unsigned: bool
) -> tuple[dict[str, float], np.ndarray, str]:
    from napari_dpdeblur.evaluation.ground_truth import ONE_SIDED, SIGNED, UNSIGNED
    from napari_dpdeblur.evaluation.metrics import defocus_scores

    if len(prediction) > 1 or len(truth) > 1:
        raise EvaluationError(
            "A colour image cannot be compared as a defocus map; choose greyscale layers or "
            "compare them as images."
        )
    p, g = prediction[0].astype(float), truth[0].astype(float)
    sign = SIGNED if (g < 0).any() else ONE_SIDED
    if is_unsigned:
        sign, p, g = UNSIGNED, np.abs(p), np.abs(g)
    is_known = np.isfinite(g) & ((g > 0) | (sign == SIGNED))
    found = defocus_scores(p, g, is_known, sign)
    scores = {name: getattr(found, name) for name in MAP_SCORES}
    slope, offset = _line(p[is_known], g[is_known])
    error = np.where(is_known, np.abs(slope * p + offset - g), np.nan)
    remark = f"over {100 * is_known.mean():.0f} % of the pixels, where the ground truth is known"
    return {name: v for name, v in scores.items() if v is not None}, error, remark


def _line(p: np.ndarray, g: np.ndarray) -> tuple[float, float]:
    """Slope and offset of g over p by least squares; a constant p has slope 0."""
    spread = float(p.var())
    slope = float(((p - p.mean()) * (g - g.mean())).mean()) / spread if spread > 0 else 0.0
    return slope, float(g.mean()) - slope * float(p.mean())


def _values(layer: Any) -> np.ndarray:
    """Linear values (C, H, W); integers of other layers are scaled to 0 to 1."""
    info = layer_info(layer)
    if info is not None and info.linear is not None:
        return linear_image(layer)
    data = layer.data
    is_rgb = bool(getattr(layer, "rgb", False))
    if getattr(layer, "multiscale", False) or np.ndim(data) != 2 + is_rgb:
        raise EvaluationError(f"The layer {layer.name} is not a 2-D image; choose a 2-D layer.")
    pixels = np.asarray(data)
    if pixels.dtype.kind in "ui":
        pixels = pixels / np.float32(np.iinfo(pixels.dtype).max)
    pixels = np.asarray(pixels, np.float32)
    return np.moveaxis(pixels[..., :3], -1, 0) if is_rgb else pixels[None]


def _same_part(result: ComparedLayer, truth: ComparedLayer) -> tuple[np.ndarray, np.ndarray]:
    """The truth where the result lies, when it covers more; sizes are checked by the metrics."""
    if result.values.shape[-2:] == truth.values.shape[-2:] or result.scale != truth.scale:
        return result.values, truth.values
    height, width = result.values.shape[-2:]
    places = zip(result.translate, truth.translate, result.scale, strict=True)
    top, left = (round((here - there) / step) for here, there, step in places)
    covers = top >= 0 and left >= 0
    covers &= top + height <= truth.values.shape[-2] and left + width <= truth.values.shape[-1]
    if not covers:
        return result.values, truth.values
    return result.values, truth.values[:, top : top + height, left : left + width]
