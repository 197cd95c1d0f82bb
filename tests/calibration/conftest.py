"""A small calibration made of numbers, and captures that fit it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from small_shoot import SMALL_FRAME, small_lens, small_shoot, small_target

from napari_dpdeblur.calibration import Calibration, Field
from napari_dpdeblur.calibration.captures import Captures
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.capture import DualPixelCapture, Source
from napari_dpdeblur.datasets.synthetic.calibration_captures import Shoot

FRAME = (48, 64)


@pytest.fixture
def kernels() -> np.ndarray:
    """(6, 2, 5, 5) float32, positive, each with sum 1."""
    values = np.random.default_rng(1).random((6, 2, 5, 5)) + 0.1
    return (values / values.sum(axis=(2, 3), keepdims=True)).astype(np.float32)


@pytest.fixture
def white() -> np.ndarray:
    """(2, 48, 64) white captures: the views fall off towards opposite sides."""
    ramp = np.linspace(0.6, 0.9, FRAME[1], dtype=np.float32)
    return np.stack([np.tile(ramp, (FRAME[0], 1)), np.tile(ramp[::-1], (FRAME[0], 1))])


@pytest.fixture
def calibration(kernels: np.ndarray, white: np.ndarray) -> Calibration:
    return Calibration(
        kernels=kernels,
        rows=2,
        cols=3,
        field=Field(8, 16, 24, 32),
        frame_shape=FRAME,
        vignetting=white,
        camera="Test phone",
        focus_distance_m=0.2,
        captured_on="2024-05-01",
        verdict={"grade": "good", "residual": 0.01},
        lens_constants=(1.5, -0.2),
        source={"files": ["a.pgm"]},
    )


@pytest.fixture
def make_capture() -> Callable[..., DualPixelCapture]:
    def make(height: int, width: int, channels: int = 1, **changes: object) -> DualPixelCapture:
        shape = (2, channels, height, width)
        raw = np.random.default_rng(2).integers(1024, 16383, shape, dtype=np.uint16)
        levels = {"black": 1024, "white": 16383, "name": "scene", "source": Source("test", (), ())}
        return DualPixelCapture(raw=raw, **{**levels, **changes})

    return make


@pytest.fixture(scope="session")
def small_settings() -> SolveSettings:
    return SolveSettings(rows=2, cols=3, kernel_px=23, iterations=80)


@pytest.fixture(scope="session")
def small_captures(small_shoot: Shoot) -> Captures:
    shoot = small_shoot
    return Captures(shoot.discs, [shoot.white], [shoot.black], shoot.sheets)


@pytest.fixture(scope="session")
def small_run(
    small_captures: Captures, small_target: Target, small_settings: SolveSettings
) -> Calibration:
    """The calibration that a run recovers from the small captures, over the whole frame."""
    height, width = SMALL_FRAME
    field = Field(24, 32, height - 48, width - 64)
    return calibrate(small_captures, small_target, small_settings, field=field)
