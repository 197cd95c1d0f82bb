"""The six metrics against independent computations, their invariances and their refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from scipy.optimize import linprog
from scipy.stats import spearmanr
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation import Alignment, defocus_scores, image_scores, mae, psnr, ssim


def textured(seed: int, shape: tuple[int, ...] = (96, 128), sigma: float = 2.0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(shape)
    smooth = gaussian_filter(noise, (0,) * (len(shape) - 2) + (sigma, sigma))
    return (0.2 * (smooth - smooth.min()) / np.ptp(smooth) + 0.02).astype(np.float32)


def defocus_pair(seed: int, size: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantised truth (many ties), a noisy prediction with outliers, and a confidence of 0 or 1."""
    random = np.random.default_rng(seed)
    truth = np.round(random.uniform(0.1, 1.0, (size, size)) * 25) / 25
    prediction = 1.3 - 0.8 * truth + 0.05 * random.standard_normal(truth.shape)
    prediction[random.uniform(size=truth.shape) < 0.1] += 1.0
    return prediction, truth, (random.uniform(size=truth.shape) > 0.3).astype(np.float64)


@pytest.mark.parametrize("shape", [(40, 50), (3, 40, 50)])
def test_image_metrics_agree_with_skimage(shape: tuple[int, ...]) -> None:
    first, second = textured(0, shape), textured(1, shape)
    axis = 0 if len(shape) == 3 else None
    assert psnr(first, second) == pytest.approx(
        peak_signal_noise_ratio(second, first, data_range=1.0), abs=1e-4
    )
    assert ssim(first, second) == pytest.approx(
        structural_similarity(second, first, data_range=1.0, channel_axis=axis), abs=1e-5
    )
    assert mae(first, second) == pytest.approx(float(np.mean(np.abs(first - second))), rel=1e-5)


def test_identical_images_are_perfect() -> None:
    truth = textured(2)
    scores = image_scores(truth, truth, Alignment.identity())
    assert (scores.psnr_db, scores.ssim, scores.mae) == (float("inf"), 1.0, 0.0)


def test_image_scores_drop_the_border_and_divide_by_the_maximum_of_the_truth() -> None:
    truth = textured(3)
    result = truth + np.float32(0.1 * truth.max())
    result[:8], result[-8:], result[:, :8], result[:, -8:] = 9.0, 9.0, 9.0, 9.0
    scores = image_scores(result, truth, Alignment.identity())
    assert scores.psnr_db == pytest.approx(20.0, abs=1e-3)
    assert scores.mae == pytest.approx(0.1, rel=1e-4)


def test_image_scores_do_not_change_when_both_images_are_dimmed() -> None:
    truth, result = textured(4), textured(4) + np.float32(0.01) * textured(5)
    bright, dim = image_scores(result, truth), image_scores(result * 1e-3, truth * 1e-3)
    assert dim.psnr_db == pytest.approx(bright.psnr_db, abs=0.01)
    assert dim.ssim == pytest.approx(bright.ssim, abs=1e-3)


def test_one_channel_with_and_without_a_channel_axis_score_alike() -> None:
    truth, result = textured(6), textured(6) * np.float32(1.1)
    assert image_scores(result[None], truth).psnr_db == image_scores(result, truth[None]).psnr_db


def test_spearman_agrees_with_scipy_where_values_tie() -> None:
    prediction, truth, confidence = defocus_pair(0)
    prediction = np.round(prediction, 1)
    use = confidence > 0
    expected = 1.0 - abs(spearmanr(prediction[use], truth[use]).statistic)
    scores = defocus_scores(prediction, truth, confidence)
    assert scores.one_minus_spearman == pytest.approx(expected, abs=1e-12)


def test_ordinal_spearman_is_the_correlation_of_a_double_argsort() -> None:
    prediction, truth, confidence = defocus_pair(0)
    use = confidence > 0
    ranks = [
        np.argsort(np.argsort(v[use], kind="stable"), kind="stable") for v in (prediction, truth)
    ]
    expected = 1.0 - abs(np.corrcoef(*ranks)[0, 1])
    scores = defocus_scores(prediction, truth, confidence)
    assert scores.one_minus_spearman_ordinal == pytest.approx(expected, abs=1e-12)
    assert scores.one_minus_spearman_ordinal != pytest.approx(scores.one_minus_spearman, abs=1e-6)


def test_aiwe2_is_the_residual_of_a_least_squares_line() -> None:
    prediction, truth, confidence = defocus_pair(1)
    p, g = prediction[confidence > 0], truth[confidence > 0]
    expected = np.sqrt(np.mean((np.polyval(np.polyfit(p, g, 1), p) - g) ** 2))
    assert defocus_scores(prediction, truth, confidence).aiwe2 == pytest.approx(expected, rel=1e-9)


def test_aiwe1_is_five_reweighted_fits() -> None:
    prediction, truth, confidence = defocus_pair(2)
    p, g = prediction[confidence > 0], truth[confidence > 0]
    weight, residual = np.ones_like(p), g
    for _ in range(5):
        root = np.sqrt(weight)
        design = np.stack([p, np.ones_like(p)], axis=1)
        line = np.linalg.lstsq(design * root[:, None], g * root, rcond=None)[0]
        residual = np.abs(design @ line - g)
        weight = 1.0 / np.maximum(1e-3, residual)
    scores = defocus_scores(prediction, truth, confidence)
    assert scores.aiwe1 == pytest.approx(residual.mean(), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_aiwe1_comes_close_to_the_least_absolute_error(seed: int) -> None:
    prediction, truth, confidence = defocus_pair(seed, size=10)
    p, g = prediction[confidence > 0], truth[confidence > 0]
    count = p.size
    line = np.stack([p, np.ones(count)], axis=1)
    above = np.hstack([line, -np.eye(count)])
    below = np.hstack([-line, -np.eye(count)])
    bounds = [(None, None)] * 2 + [(0, None)] * count
    solved = linprog(
        np.r_[0.0, 0.0, np.ones(count) / count],
        np.vstack([above, below]),
        np.r_[g, -g],
        bounds=bounds,
    )
    found = defocus_scores(prediction, truth, confidence).aiwe1
    assert solved.fun - 1e-9 <= found <= 1.1 * solved.fun


@settings(max_examples=25, deadline=None)
@given(
    slope=st.floats(0.05, 20.0), sign=st.sampled_from([-1.0, 1.0]), offset=st.floats(-10.0, 10.0)
)
def test_defocus_scores_ignore_slope_and_offset(slope: float, sign: float, offset: float) -> None:
    prediction, truth, confidence = defocus_pair(3, size=16)
    plain = defocus_scores(prediction, truth, confidence)
    moved = defocus_scores(sign * slope * prediction + offset, truth, confidence)
    assert moved.aiwe1 == pytest.approx(plain.aiwe1, rel=1e-6)
    assert moved.aiwe2 == pytest.approx(plain.aiwe2, rel=1e-6)
    assert moved.one_minus_spearman == pytest.approx(plain.one_minus_spearman, abs=1e-3)


def test_pixels_without_confidence_are_ignored_even_when_not_finite() -> None:
    prediction, truth, confidence = defocus_pair(4)
    spoiled = np.where(confidence > 0, prediction, np.nan)
    assert defocus_scores(spoiled, truth, confidence) == defocus_scores(
        prediction, truth, confidence
    )


def test_a_constant_prediction_is_as_bad_as_the_mean() -> None:
    _, truth, confidence = defocus_pair(5)
    scores = defocus_scores(np.full_like(truth, 0.7), truth, confidence)
    assert scores.aiwe2 == pytest.approx(truth[confidence > 0].std(), rel=1e-9)
    assert scores.one_minus_spearman == 1.0
    assert scores.one_minus_spearman_ordinal == 1.0


def test_a_constant_truth_is_met_exactly_but_has_no_order() -> None:
    prediction, truth, confidence = defocus_pair(6)
    scores = defocus_scores(prediction, np.full_like(truth, 0.4), confidence)
    assert (scores.aiwe1, scores.aiwe2) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    assert scores.one_minus_spearman == 1.0


def test_not_a_number_in_the_map_is_refused() -> None:
    prediction, truth, confidence = defocus_pair(7)
    prediction[confidence > 0] = np.nan
    with pytest.raises(EvaluationError, match=r"The defocus map has \d+ pixels that are not fini"):
        defocus_scores(prediction, truth, confidence)


def test_not_a_number_in_the_image_is_refused() -> None:
    truth = textured(7)
    result = truth.copy()
    result[10, 10] = np.inf
    with pytest.raises(EvaluationError, match=r"all-in-focus image has 1 pixels that are not fin"):
        image_scores(result, truth)


def test_maps_of_different_size_are_refused() -> None:
    prediction, truth, confidence = defocus_pair(8)
    with pytest.raises(EvaluationError, match=r"defocus map has shape \(39, 40\), but the ground"):
        defocus_scores(prediction[1:], truth, confidence)


def test_images_of_different_size_are_refused() -> None:
    truth = textured(8)
    with pytest.raises(EvaluationError, match=r"shape \(1, 95, 128\), but the ground truth has"):
        image_scores(truth[1:], truth)


def test_an_image_with_a_strange_number_of_channels_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"must have shape .*, not \(2, 96, 128\)"):
        image_scores(textured(9, (2, 96, 128)), textured(9, (2, 96, 128)))


def signed_pair() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth = np.tile(np.linspace(-1, 1, 41), (10, 1))
    return truth.copy(), truth, np.ones_like(truth)


def test_the_sign_is_scored_only_against_signed_truth() -> None:
    prediction, truth, confidence = signed_pair()
    assert defocus_scores(prediction, truth, confidence).right_sign is None
    assert defocus_scores(prediction, truth, confidence, "unsigned").right_sign is None
    assert defocus_scores(prediction, truth, confidence, "signed").right_sign == 1.0


def test_the_sign_is_scored_by_confidence_and_away_from_the_focus() -> None:
    prediction, truth, confidence = signed_pair()
    prediction[np.abs(truth) <= 0.15] *= -1  # nobody can tell
    assert defocus_scores(prediction, truth, confidence, "signed").right_sign == 1.0
    prediction[:5] *= -1
    assert defocus_scores(prediction, truth, confidence, "signed").right_sign == 0.5
    confidence[:5] = 0.25
    assert defocus_scores(prediction, truth, confidence, "signed").right_sign == 0.8
    confidence[:5] = 0
    assert defocus_scores(prediction, truth, confidence, "signed").right_sign == 1.0


def test_a_truth_in_focus_has_no_sign_to_score() -> None:
    prediction, truth, confidence = signed_pair()
    assert defocus_scores(prediction, 0.1 * truth, confidence, "signed").right_sign is None


def test_only_unsigned_truth_is_compared_by_absolute_values() -> None:
    prediction, truth, confidence = signed_pair()
    blur = np.abs(truth)
    assert defocus_scores(prediction, blur, confidence).aiwe1 > 0.2
    assert defocus_scores(prediction, blur, confidence, "unsigned").aiwe1 < 1e-6
    assert defocus_scores(prediction, truth, confidence, "signed").aiwe1 < 1e-6
    assert defocus_scores(-prediction, truth, confidence, "unsigned").aiwe1 < 1e-6


def test_a_map_without_confidence_is_refused() -> None:
    prediction, truth, confidence = defocus_pair(9)
    with pytest.raises(EvaluationError, match="has no confident pixel"):
        defocus_scores(prediction, truth, np.zeros_like(confidence))


def test_a_black_truth_is_refused() -> None:
    with pytest.raises(EvaluationError, match="ground-truth image is black"):
        image_scores(textured(10), np.zeros((96, 128), np.float32))


def test_a_tiny_image_is_refused() -> None:
    with pytest.raises(EvaluationError, match="at least 23 x 23 px are needed"):
        image_scores(textured(11, (22, 30)), textured(11, (22, 30)))
