"""The six metrics of a result, and the share of right signs.

All-in-focus image: PSNR, SSIM and MAE after affine alignment, without a border of 8 px, relative to
the maximum of the ground truth. Defocus map: AIWE(1), AIWE(2) and 1 - |rho_s| (Garg et al. 2019),
which are invariant to scale and offset of the prediction. Where the ground truth tells the front
from the back, the share of pixels on the right side of the focus plane comes on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from skimage.metrics import structural_similarity

from napari_dpdeblur.array_types import AnyFloatArray, Float64Array, FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.alignment import Alignment, align_affine
from napari_dpdeblur.evaluation.ground_truth import ONE_SIDED, SIGNED, UNSIGNED, Sign

BORDER_PX = 8
SSIM_WINDOW_PX = 7
AIWE_ROUNDS = 5
AIWE_FLOOR = 1e-3
SIGN_MARGIN = 0.15  # true defocus scale from which the side of the focus plane is scored


@dataclass(frozen=True)
class ImageScores:
    """Scores of an all-in-focus image, and the alignment that was used."""

    psnr_db: float
    ssim: float
    mae: float
    alignment: Alignment


@dataclass(frozen=True)
class DefocusScores:
    """Scores of a defocus map; 0 is perfect, except for ``right_sign``.

    Equal values share their mean rank in `one_minus_spearman`, and are ranked in reading order in
    `one_minus_spearman_ordinal`, like a double argsort. An 8-bit ground truth has many equal
    values (up to 38 % of the pixels of a scene), so the two differ by up to 0.05. ``right_sign``
    is None if the ground truth is not signed, or in focus everywhere.
    """

    aiwe1: float
    aiwe2: float
    one_minus_spearman: float
    one_minus_spearman_ordinal: float
    right_sign: float | None = None


def psnr(result: FloatArray, truth: FloatArray) -> float:
    """Peak signal-to-noise ratio in dB of two aligned images of equal shape, data range 1."""
    _check_same_shape("image", result, truth)
    error = float(np.mean(np.square(np.subtract(result, truth, dtype=np.float64))))
    return float("inf") if error == 0.0 else float(-10.0 * np.log10(error))


def ssim(result: FloatArray, truth: FloatArray) -> float:
    """Structural similarity of two aligned images, (H, W) or (C, H, W), data range 1.

    Uniform window of 7 px; channels are averaged.
    """
    _check_same_shape("image", result, truth)
    axis = 0 if result.ndim == 3 else None
    similarity: Callable[..., float] = structural_similarity
    first, second = np.asarray(truth, dtype=np.float64), np.asarray(result, dtype=np.float64)
    return float(
        similarity(first, second, win_size=SSIM_WINDOW_PX, data_range=1.0, channel_axis=axis)
    )


def mae(result: FloatArray, truth: FloatArray) -> float:
    """Mean absolute difference of two aligned images of equal shape."""
    _check_same_shape("image", result, truth)
    return float(np.mean(np.abs(np.subtract(result, truth, dtype=np.float64))))


def image_scores(
    result: FloatArray, truth: FloatArray, alignment: Alignment | None = None
) -> ImageScores:
    """Score an all-in-focus image, (H, W) or (C, H, W), linear, in the unit of the truth.

    Without `alignment` the transform is estimated for this scene. The paper uses one transform,
    estimated on one scene, for all scenes.
    """
    result, truth = _with_channels(result), _with_channels(truth)
    _check_same_shape("all-in-focus image", result, truth)
    _check_finite("all-in-focus image", result)
    _check_finite("ground-truth image", truth)
    _check_large_enough(truth)
    peak = float(truth.max())
    if peak <= 0.0:
        raise EvaluationError("The ground-truth image is black; choose another ground-truth file.")
    alignment = alignment or align_affine(result, truth)
    inner = np.s_[:, BORDER_PX:-BORDER_PX, BORDER_PX:-BORDER_PX]
    aligned, target = alignment.apply(result)[inner] / peak, truth[inner] / peak
    return ImageScores(
        psnr(aligned, target), ssim(aligned, target), mae(aligned, target), alignment
    )


def defocus_scores(
    prediction: FloatArray,
    truth: FloatArray,
    confidence: npt.NDArray[np.generic],
    sign: Sign = ONE_SIDED,
) -> DefocusScores:
    """Score a defocus map (H, W) against `truth` (H, W) where `confidence` (H, W) is above 0.

    `sign` is that of the truth: signed truth also scores the sign of the map; truth that is
    unsigned is compared with the absolute value of the map.
    """
    _check_same_shape("defocus map", prediction, truth)
    _check_same_shape("confidence", confidence, truth)
    weight = np.asarray(confidence, dtype=np.float64)
    use = weight > 0.0
    if not use.any():
        raise EvaluationError(
            "The ground-truth defocus map has no confident pixels; choose another ground-truth "
            "file."
        )
    p, g, c = (np.asarray(a, dtype=np.float64)[use] for a in (prediction, truth, weight))
    _check_finite("defocus map", p)
    _check_finite("ground-truth defocus map", g)
    if sign == UNSIGNED:
        p, g = np.abs(p), np.abs(g)
    return DefocusScores(
        aiwe1=aiwe1(p, g, c),
        aiwe2=aiwe2(p, g, c),
        one_minus_spearman=one_minus_spearman(p, g, c),
        one_minus_spearman_ordinal=one_minus_spearman(p, g, c, ties="ordinal"),
        right_sign=right_sign(p, g, c) if sign == SIGNED else None,
    )


def aiwe1(p: Float64Array, g: Float64Array, c: Float64Array) -> float:
    """Affine-invariant weighted mean absolute error, by five reweighted least-squares fits."""
    weight = c
    residual = g
    for _ in range(AIWE_ROUNDS):
        residual = np.abs(affine_fit(p, g, weight) - g)
        weight = c / np.maximum(AIWE_FLOOR, residual)
    return float(np.average(residual, weights=c))


def aiwe2(p: Float64Array, g: Float64Array, c: Float64Array) -> float:
    """Affine-invariant weighted root mean square error."""
    residual = affine_fit(p, g, c) - g
    return float(np.sqrt(np.average(np.square(residual), weights=c)))


def one_minus_spearman(
    p: Float64Array, g: Float64Array, c: Float64Array, ties: str = "average"
) -> float:
    """1 - |rho_s| with the weighted rank correlation rho_s; 1 if either map is constant.

    `ties` is "average" (equal values share their mean rank) or "ordinal" (in reading order).
    """
    if np.ptp(p) == 0.0 or np.ptp(g) == 0.0:
        return 1.0
    ranks_p, ranks_g = (rankdata(values, method=ties).astype(np.float64) for values in (p, g))
    ranks_p -= np.average(ranks_p, weights=c)
    ranks_g -= np.average(ranks_g, weights=c)
    spread = np.sqrt(np.sum(c * ranks_p**2) * np.sum(c * ranks_g**2))
    return float(1.0 - min(1.0, abs(np.sum(c * ranks_p * ranks_g)) / spread))


def right_sign(
    p: Float64Array, g: Float64Array, c: Float64Array, margin: float = SIGN_MARGIN
) -> float | None:
    """Weighted share of the pixels farther than `margin` from the focus with the sign of `g`.

    None if there are no such pixels.
    """
    far = np.abs(g) > margin
    if not far.any():
        return None
    return float(np.average(np.sign(p[far]) == np.sign(g[far]), weights=c[far]))


def affine_fit(p: Float64Array, g: Float64Array, weight: Float64Array) -> Float64Array:
    """Weighted least-squares fit a p + b of g; a = 0 for a constant p."""
    mean_p, mean_g = np.average(p, weights=weight), np.average(g, weights=weight)
    centred = p - mean_p
    variance = float(np.average(np.square(centred), weights=weight))
    # Rounding gives a constant map a tiny variance; dividing by it would amplify noise.
    if variance <= (1e-12 * max(1e-30, float(np.abs(p).max()))) ** 2:
        return np.full_like(p, mean_g)
    slope = float(np.average(centred * (g - mean_g), weights=weight)) / variance
    return np.asarray(mean_g + slope * centred, dtype=np.float64)


def _with_channels(image: FloatArray) -> FloatArray:
    image = np.asarray(image)
    if image.ndim == 2:
        return image[np.newaxis]
    if image.ndim == 3 and image.shape[0] in (1, 3):
        return image
    raise EvaluationError(
        f"An image must have shape (height, width) or (3, height, width), not {image.shape}."
    )


def _check_same_shape(
    name: str, first: npt.NDArray[np.generic], truth: npt.NDArray[np.generic]
) -> None:
    if first.shape != truth.shape:
        raise EvaluationError(
            f"The {name} has shape {first.shape}, but the ground truth has {truth.shape}; "
            "compare images of the same scene, crop and number of channels."
        )


def _check_finite(name: str, array: AnyFloatArray) -> None:
    bad = int(array.size - np.count_nonzero(np.isfinite(array)))
    if bad:
        raise EvaluationError(
            f"The {name} has {bad} pixels that are not finite; repeat the fit or repair the file."
        )


def _check_large_enough(truth: FloatArray) -> None:
    smallest = 2 * BORDER_PX + SSIM_WINDOW_PX
    if min(truth.shape[1:]) < smallest:
        raise EvaluationError(
            f"The images have {truth.shape[1]} x {truth.shape[2]} px, but at least "
            f"{smallest} x {smallest} px are needed; evaluate a larger crop."
        )
