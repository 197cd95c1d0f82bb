from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from napari_dpdeblur.calibration.estimate.first_look import (
    largest_disparity,
    matched_disparities,
    view_ratio,
)
from napari_dpdeblur.calibration.estimate.settings import DisparityParameters

SETTINGS = DisparityParameters()


def texture(height: int, width: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).random((height, width))
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 2.0) + 0.2, np.float32)


def test_the_ratio_of_vignetting_is_found_behind_a_picture() -> None:
    y, x = np.mgrid[-1:1:200j, -1:1:300j]
    true = np.exp(0.3 * x - 0.2 * x * y + 0.1 * y**2)
    picture = texture(200, 300)
    found = view_ratio([np.stack([picture, picture / true]).astype(np.float32)])
    assert np.abs(found / true - 1).max() < 0.02


def test_black_captures_have_no_ratio() -> None:
    assert (view_ratio([np.zeros((2, 64, 64), np.float32)]) == 1).all()


@pytest.mark.parametrize("shift", [3.0, -2.0, 0.5, 9.0])
def test_the_disparity_of_shifted_views_is_measured_with_its_sign(shift: float) -> None:
    picture = texture(256, 400)
    move = np.float32([[1, 0, shift], [0, 1, 0]])
    right = cv2.warpAffine(picture, move, (400, 256), flags=cv2.INTER_CUBIC)
    found = matched_disparities(torch.from_numpy(np.stack([picture, right])), SETTINGS)
    assert float(found.median()) == pytest.approx(shift, abs=0.15)
    assert largest_disparity(found, SETTINGS) == pytest.approx(abs(shift), abs=0.3)


def test_views_without_texture_have_no_matches() -> None:
    assert largest_disparity(matched_disparities(torch.ones(2, 96, 128), SETTINGS), SETTINGS) == 0
