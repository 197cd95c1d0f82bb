"""Disparity and the two sides of the focus plane."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.calibration.sides import centroids_px, disparity_px, disparity_ratio, turned
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.errors import CalibrationError


def test_centroids_and_disparity_of_single_pixels():
    kernels = np.zeros((1, 2, 5, 5))
    kernels[0, 0, 1, 0] = 2.0
    kernels[0, 1, 2, 4] = 3.0
    np.testing.assert_allclose(centroids_px(kernels), [[[-2, -1], [2, 0]]])
    np.testing.assert_allclose(disparity_px(kernels), [-4])


def test_turned_kernels_have_the_opposite_disparity():
    kernels = synthetic_kernels(2, 3)
    np.testing.assert_allclose(disparity_px(turned(kernels)), -disparity_px(kernels), atol=1e-5)
    assert disparity_px(kernels).max() < 0
    assert disparity_ratio(turned(kernels), kernels) == pytest.approx(-1)


def test_the_ratio_is_that_of_the_scales():
    half, full = (synthetic_kernels(2, 3, disparity_px=d) for d in (2.0, -4.0))
    assert disparity_ratio(half, full) == pytest.approx(-0.5, abs=1e-3)


def test_kernels_without_disparity_have_no_scale():
    kernels = np.ones((1, 2, 3, 3))
    with pytest.raises(CalibrationError, match="no disparity between left and right"):
        disparity_ratio(kernels, kernels)
