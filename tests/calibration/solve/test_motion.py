"""Motion found in kernels: of round pupils, of astigmatic ones, and with interpolated rows."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.calibration.solve.motion import motion_px

SIZE_PX = 41
SIZED = np.arange(SIZE_PX) - SIZE_PX // 2


def kernels(radii_px=(8.0, 8.0), soft_px: float = 1.5) -> np.ndarray:
    """Four tiles of one pair (4, 2, 41, 41): an ellipse, brighter on one side in each view."""
    x, y = np.meshgrid(SIZED, SIZED)
    radius = np.hypot(x / radii_px[0], y / radii_px[1])
    pupil = np.clip((1 - radius) * min(radii_px) / (2 * soft_px) + 0.5, 0, 1)
    left = pupil * (0.5 - 0.4 * np.tanh(x / 4))
    pair = np.stack([left, left[:, ::-1]])
    return np.tile(pair / pair.sum((1, 2), keepdims=True), (4, 1, 1, 1))


def moved(still: np.ndarray, motion: tuple[float, float]) -> np.ndarray:
    """The kernels, smeared over a straight motion."""
    frequency = np.fft.fftfreq(SIZE_PX)
    along = motion[0] * frequency[None] + motion[1] * frequency[:, None]
    return np.fft.ifft2(np.fft.fft2(still) * np.sinc(along)).real


@pytest.mark.parametrize("length_px", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("angle_deg", [0, 30, 90, 135])
def test_the_length_is_found_in_every_direction(length_px, angle_deg):
    angle = np.deg2rad(angle_deg)
    motion = (length_px * np.cos(angle), length_px * np.sin(angle))
    assert motion_px(moved(kernels(), motion)) == pytest.approx(length_px, abs=0.35)


@pytest.mark.parametrize("radius_px", [5.0, 8.0, 12.0])
def test_a_round_pupil_does_not_move(radius_px):
    assert motion_px(kernels((radius_px, radius_px))) < 0.5


def test_a_wider_blur_is_hardly_softer():
    """By its second moments it would be a motion of 3.4 px: 12 (8.24^2 - 8^2) / 4 = 3.4^2."""
    assert motion_px(kernels((8.24, 8.0))) < 1.9
    assert motion_px(moved(kernels((8.24, 8.0)), (2.0, 0.0))) > 2.0


def test_interpolated_rows_are_not_a_motion_along_y():
    rows = np.cos(np.pi * np.fft.fftfreq(SIZE_PX)) ** 4
    soft = np.fft.ifft2(np.fft.fft2(kernels()) * rows[:, None]).real
    assert motion_px(soft) > 2.5
    assert motion_px(soft, row_upsampling=2) < 0.5
    assert motion_px(kernels(), row_upsampling=2) < 0.5, "they need not contain it"
    assert motion_px(moved(soft, (2.0, 2.0)), row_upsampling=2) > 2.5


def test_a_real_lens_does_not_move(pixel4_data):
    lens = load_calibration(pixel4_data / "pixel4")
    assert motion_px(lens.kernels, row_upsampling=2) < 1.5
