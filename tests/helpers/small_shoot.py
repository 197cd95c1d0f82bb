"""Fixtures: captures of a small calibration target through the synthetic lens."""

from __future__ import annotations

import dataclasses

import pytest

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.datasets.synthetic.calibration_captures import Shoot, simulate_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

SMALL_FRAME = (384, 480)


@pytest.fixture(scope="session")
def small_lens() -> Calibration:
    """The synthetic lens with small kernels on a small frame; 2 x 3 tiles over all of it."""
    lens = synthetic_calibration(*SMALL_FRAME, rows=2, cols=3)
    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    return dataclasses.replace(lens, kernels=kernels)


@pytest.fixture(scope="session")
def small_target() -> Target:
    """16 x 13 discs for a screen that fills the small frame."""
    return Target.for_screen(520, 420, 32.0)


@pytest.fixture(scope="session")
def small_shoot(small_lens: Calibration, small_target: Target) -> Shoot:
    """Two shots of the discs and three white sheets, slightly turned, with real noise."""
    pose = Pose(scale=1.0, rotation_deg=3.0, tilt_deg=(3.0, -2.0), distortion=-0.02)
    return simulate_shoot(small_target, small_lens, pose, burst=2, sheets=3)
