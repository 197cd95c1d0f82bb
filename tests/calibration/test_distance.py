"""Lens constants and distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.calibration.distance import (
    checked_constants,
    distance_m,
    fit_lens_constants,
    relative_scale,
    with_lens_constants,
)
from napari_dpdeblur.errors import CalibrationError


def test_lens_constants_from_known_distances():
    a, b = 1.8, -0.25
    distances = [0.3, 0.45, 0.9]
    found = fit_lens_constants(distances, [a + b / z for z in distances])
    np.testing.assert_allclose(found, (a, b))
    np.testing.assert_allclose(distance_m(np.array([a + b / 0.6]), found), [0.6])
    assert distance_m(a, (a, b)) == np.inf
    assert distance_m(a + 1, (a, b)) == np.inf


def test_scales_come_from_disparities(small_lens):
    wider = replace(small_lens, kernels=_stretched(small_lens.kernels))
    assert relative_scale(wider, small_lens) == pytest.approx(0.5, abs=0.01)
    full = with_lens_constants(small_lens, [(0.45, small_lens), (0.3, wider)])
    assert distance_m(1.0, full.lens_constants) == pytest.approx(0.45)
    assert distance_m(0.5, full.lens_constants) == pytest.approx(0.3, abs=0.01)


def _stretched(kernels):
    """Kernels of half the size."""
    import torch

    from napari_dpdeblur.optics import KernelGrid

    half = KernelGrid(torch.from_numpy(np.array(kernels)), 2, 3).scaled(0.5).kernels.numpy()
    pad = (kernels.shape[-1] - half.shape[-1]) // 2
    return np.pad(half, ((0, 0), (0, 0), (pad, pad), (pad, pad)))


@pytest.mark.parametrize(
    ("distances", "scales", "message"),
    [
        ([0.5], [1.0], "need at least two different distances"),
        ([0.5, 0.5], [1.0, 1.0], "need at least two different distances"),
        ([0.5, -1.0], [1.0, 2.0], "needs a distance greater than 0 m"),
        ([0.5, 1.0], [1.0], "needs a distance"),
        ([1e-320, 1.0], [1.0, 2.0], "of 9.99989e-321 m is not possible; give it in metres, betw"),
        ([1.0, float("inf")], [1.0, 2.0], "of inf m is not possible"),
        ([1.0, 1e300], [1.0, 2.0], r"of 1e\+300 m is not possible"),
        ([1.0, 2.0], [1.0, 1.0], "B must not be 0"),
    ],
)
def test_distances_that_do_not_help(distances, scales, message):
    with pytest.raises(CalibrationError, match=message):
        fit_lens_constants(distances, scales)


@pytest.mark.parametrize("constants", [(1e12, -1.0), (1.0, -1e308)])
def test_constants_that_only_overflow(constants):
    """A run with them could be written, but not be read again."""
    with pytest.raises(CalibrationError, match=r"are larger than 1e\+09; check their unit"):
        checked_constants(*constants)


def test_calibrations_of_different_grids(small_lens, calibration):
    with pytest.raises(CalibrationError, match="same grid"):
        relative_scale(replace(small_lens, rows=1, cols=6), small_lens)


def test_one_formula_for_both_sides():
    """Focus at 0.25 m: nearer points have a negative scale."""
    a, b = 2.0, -0.5
    distances = [0.15, 0.2, 0.5]
    scales = [a + b / z for z in distances]
    assert scales[0] < scales[1] < 0 < scales[2]
    found = fit_lens_constants(distances, scales)
    np.testing.assert_allclose(found, (a, b))
    np.testing.assert_allclose(distance_m(np.array([*scales, 0.0]), found), [*distances, 0.25])
