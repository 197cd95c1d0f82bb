"""Real kernels at the noise of a real shot: the limits of the calibration, on a part of the frame.

`benchmarks/calibration.py` does the same on the whole frame.
"""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration, Field, load_calibration
from napari_dpdeblur.calibration.captures import Captures, TargetSet
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.sides import centroids_px, disparity_px, turned
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.datasets.synthetic.calibration_captures import Exposure, simulate_shoot
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose

FRAME = (504, 672)
FIELD = Field(84, 84, 336, 504)
TARGET = Target.for_screen(700, 560, 48.0)


@pytest.fixture(scope="module")
def lens(pixel4_data) -> Calibration:
    """2 x 3 of the published tiles, of 168 px each, in the middle of a small frame."""
    whole = load_calibration(pixel4_data / "pixel4")
    tiles = [row * whole.cols + col for row in (1, 2) for col in (4, 5, 6)]
    top, left = whole.field.top + 168 - FIELD.top, whole.field.left + 4 * 168 - FIELD.left
    white = whole.vignetting[:, top : top + FRAME[0], left : left + FRAME[1]]
    return Calibration(whole.kernels[tiles], 2, 3, FIELD, FRAME, vignetting=white)


def centred(kernels):
    """Pairs (P, 2, K, K) with their common centroid in the middle, which is how a fit uses them.

    A shift that both views share moves the sharp picture only; no target can tell it.
    """
    size = kernels.shape[-1]
    x, y = np.moveaxis(centroids_px(kernels).mean(axis=1), -1, 0)[..., None, None, None]
    phase = np.fft.rfftfreq(size) * x + np.fft.fftfreq(size)[:, None] * y
    return np.fft.irfft2(np.fft.rfft2(kernels) * np.exp(2j * np.pi * phase), s=(size, size))


def kernel_error(found, truth):
    found, truth = centred(found.astype(float)), centred(truth.astype(float))
    error = ((found - truth) ** 2).sum((-2, -1)) / (truth**2).sum((-2, -1))
    return np.sqrt(error).mean()


@pytest.mark.parametrize(
    ("burst", "exposure", "limit"),
    [(6, Exposure(), 0.07), (1, Exposure(), 0.12), (1, Exposure.noise_free(), 0.03)],
    ids=["six shots", "one shot", "noise-free"],
)
def test_published_kernels_are_recovered(burst, exposure, limit, lens):
    pose = Pose(scale=1.05, rotation_deg=4, tilt_deg=(5, -4), distortion=-0.02)
    shoot = simulate_shoot(TARGET, lens, pose, exposure, burst=burst)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black], shoot.sheets)
    found = calibrate(captures, TARGET, SolveSettings(rows=2, cols=3), field=FIELD)
    assert kernel_error(found.kernels, lens.kernels) <= limit
    difference = disparity_px(found.kernels) - disparity_px(lens.kernels)
    assert np.abs(difference).max() <= 0.1
    ratio = found.vignetting_ratio[FIELD.window] / lens.vignetting_ratio[FIELD.window]
    assert np.abs(ratio - 1).max() <= 0.005
    assert found.verdict["grade"] == "good"


def test_published_kernels_are_recovered_on_both_sides(lens):
    """In front the target is nearer: seen larger, in another pose, with 0.8 of the blur."""
    sides = {}
    for scale, size in ((1.0, 1.05), (-0.8, 1.15)):
        pose = Pose(scale=size, rotation_deg=4 * scale, tilt_deg=(5, -4), distortion=-0.02)
        shoot = simulate_shoot(TARGET, lens, pose, scale=scale, burst=6, sheets=1)
        sides[scale] = TargetSet(shoot.discs, [shoot.white], [shoot.black])
    captures = Captures(**vars(sides[1.0]), front=sides[-0.8])
    found = calibrate(captures, TARGET, SolveSettings(rows=2, cols=3), field=FIELD)
    truth = turned(shrunk(lens, 0.8))
    assert kernel_error(found.kernels, lens.kernels) <= 0.07
    assert kernel_error(found.front_kernels, truth) <= 0.07
    assert np.abs(disparity_px(found.front_kernels) - disparity_px(truth)).max() <= 0.1
    assert found.front_scale == pytest.approx(-0.8, abs=0.01)
    assert found.verdict["grade"] == "good"


def shrunk(lens, scale):
    """Kernels of a lens at another scale behind the focus plane, in their old size."""
    small = lens.kernel_grid().scaled(scale).kernels.numpy()
    pad = [(have - size) // 2 for have, size in zip(lens.kernels.shape, small.shape, strict=True)]
    return np.pad(small, [(0, 0), (0, 0), *((p, p) for p in pad[2:])])
