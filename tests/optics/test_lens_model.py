"""How kernels of a calibration are used, in one place."""

from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.optics import DefocusedKernels, KernelGrid
from napari_dpdeblur.optics.lens_model import AS_STORED, CENTRED, LensModel


def _offset_px(grid: KernelGrid) -> float:
    """Largest common offset of both views along x."""
    place = torch.arange(grid.size_px[1], dtype=torch.float32) - grid.size_px[1] // 2
    return float((grid.kernels.sum(-2) * place).sum(-1).mean(1).abs().max())


def test_corrections_are_applied_as_described():
    stored = synthetic_calibration(96, 128).kernel_grid()
    excess = (0.6, 0.6)
    torch.testing.assert_close(AS_STORED.corrected(stored, excess).kernels, stored.kernels)
    centred = CENTRED.corrected(stored, excess)
    assert _offset_px(centred) < 0.05 < _offset_px(stored)
    sharp = LensModel(sharpening_steps=5).corrected(stored, excess)
    assert sharp.rms_radius_px() < centred.rms_radius_px() - 0.02
    torch.testing.assert_close(sharp.kernels.sum((-2, -1)), torch.ones(48, 2))
    assert LensModel(negligible_mass=0.01).corrected(stored, excess).negligible_mass == 0.01


def test_kernels_are_stretched_exactly_or_by_area():
    grid = synthetic_calibration(96, 128).kernel_grid()
    by_area = CENTRED.stretched(grid, 0.6)
    assert isinstance(by_area, KernelGrid)
    exact = LensModel(is_exact=True).stretched(grid, 0.6)
    assert isinstance(exact, DefocusedKernels)
    assert exact.stretch == pytest.approx((0.6, 0.6))
    assert LensModel(is_exact=True).stretched(grid, 0.6, (2.0, 1.0)).stretch == (0.3, 0.6)


def test_a_description_gives_the_same_lens():
    lens = LensModel(False, 3, 0.02, True, 0, 0.2)
    assert LensModel.described(lens.describe()) == lens
    assert LensModel.described({**lens.describe(), "from the future": 1}) == lens
    assert LensModel.described(None) is None
    assert LensModel.described({}) is None
