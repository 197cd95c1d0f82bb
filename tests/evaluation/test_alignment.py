"""The alignment finds small affine movements and says so when it cannot."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from napari_dpdeblur.evaluation import Alignment, align_affine, image_scores

MOVEMENT = np.array([[1.004, 0.002, 3.0], [-0.001, 0.997, -2.0]])


def scene(seed: int = 0, level: float = 1.0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((160, 200))
    smooth = gaussian_filter(noise, 1.5) + 3 * gaussian_filter(noise, 8)
    return (level * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.float32)[None]


def moved(image: np.ndarray, movement: np.ndarray = MOVEMENT) -> np.ndarray:
    size = (image.shape[2], image.shape[1])
    return np.stack(
        [
            cv2.warpAffine(c, movement, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
            for c in image
        ]
    )


@pytest.mark.parametrize("level", [1.0, 1e-3])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_known_movement_is_found(level: float, channels: int) -> None:
    truth = np.repeat(scene(level=level), channels, axis=0)
    found = align_affine(moved(truth), truth)
    assert found.warning is None
    assert found.correlation is not None
    assert found.correlation > 0.99
    error = Alignment(found.matrix - MOVEMENT + np.eye(2, 3))
    assert error.corner_shift_px(160, 200) < 0.1


def test_gain_and_offset_do_not_disturb_the_alignment() -> None:
    truth = scene()
    found = align_affine(0.3 * moved(truth) + np.float32(0.2), truth)
    error = Alignment(found.matrix - MOVEMENT + np.eye(2, 3))
    assert error.corner_shift_px(160, 200) < 0.1


def test_aligned_scores_are_far_better_than_unaligned_ones() -> None:
    truth = scene()
    result = moved(truth)
    unaligned = image_scores(result, truth, Alignment.identity()).psnr_db
    assert image_scores(result, truth).psnr_db > unaligned + 10.0


def test_the_identity_leaves_the_image_untouched() -> None:
    image = scene()
    assert Alignment.identity().apply(image) is image


def test_a_shift_by_one_pixel_moves_one_pixel() -> None:
    image = scene()
    shifted = Alignment(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])).apply(image)
    np.testing.assert_array_equal(shifted[:, :, :-1], image[:, :, 1:])
    np.testing.assert_array_equal(shifted[:, :, -1], image[:, :, -1])


def test_a_constant_image_is_not_aligned_but_scored() -> None:
    truth = scene()
    scores = image_scores(np.full_like(truth, 0.1), truth)
    assert scores.alignment.warning is not None
    assert "because one of them is constant" in scores.alignment.warning
    np.testing.assert_array_equal(scores.alignment.matrix, np.eye(2, 3))


def test_a_negative_is_not_aligned() -> None:
    truth = scene()
    found = align_affine(1.0 - truth, truth)
    assert found.warning is not None
    assert "did not converge" in found.warning
    np.testing.assert_array_equal(found.matrix, np.eye(2, 3))


def test_a_large_movement_is_taken_for_a_false_match() -> None:
    truth = scene()
    found = align_affine(moved(truth, np.array([[1.0, 0.0, 20.0], [0.0, 1.0, 0.0]])), truth)
    assert found.warning is not None
    np.testing.assert_array_equal(found.matrix, np.eye(2, 3))
