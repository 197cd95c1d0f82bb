"""Simulated captures of a calibration."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration.captures import view_shift_px
from napari_dpdeblur.calibration.target.disc_coverage import disc_coverage
from napari_dpdeblur.calibration.target.geometry import pixel_grid
from napari_dpdeblur.calibration.target.pattern import load_target
from napari_dpdeblur.capture import find_captures, open_capture
from napari_dpdeblur.datasets.synthetic.calibration_captures import (
    Exposure,
    blurred_frame,
    expose,
    native_rows,
    simulate_shoot,
    write_shoot,
)
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose, pattern_in_frame
from napari_dpdeblur.errors import CalibrationError

FRAME = (384, 480)


def test_an_upright_pose_shows_the_screen_as_it_is(small_target):
    offset = (np.array(FRAME[::-1]) - small_target.screen_px) / 2
    camera = pixel_grid(3, 3, 100, 200)
    seen = Pose(scale=1.0).to_screen(camera, small_target.screen_px, FRAME)
    np.testing.assert_allclose(seen, camera - offset, atol=1e-9)


def test_rotation_tilt_and_distortion_do_what_they_say(small_target):
    size = small_target.screen_px
    middle = (np.array(size) - 1) / 2

    def directions(pose):
        matrix = pose.homography(size, FRAME)
        points = middle + np.array([[0, 0], [100, 0], [-100, 0]])
        moved = cv2.perspectiveTransform(points[None], matrix)[0]
        return moved[1:] - moved[0]

    turned = directions(Pose(scale=1.0, rotation_deg=30))
    assert np.degrees(np.arctan2(*turned[0][::-1])) == pytest.approx(30)
    right, left = directions(Pose(scale=1.0, tilt_deg=(20, 0)))
    assert abs(right[0]) > 1.02 * abs(left[0])
    mirrored = directions(Pose(scale=1.0, tilt_deg=(-20, 0)))
    np.testing.assert_allclose(mirrored, [-left, -right], atol=1e-9)
    corner = np.array([0.0, 0.0])
    barrel = Pose(scale=1.0, distortion=-0.05).to_screen(corner, size, FRAME)
    straight = Pose(scale=1.0).to_screen(corner, size, FRAME)
    distance = np.hypot(*(barrel - middle)) / np.hypot(*(straight - middle))
    assert distance == pytest.approx(1 / 0.95, rel=2e-3)


def test_the_latent_picture_agrees_with_one_drawn_point_by_point(small_target):
    """Two ways to the same picture: distance to the edge, and counting points."""
    pose = Pose(scale=1.1, rotation_deg=17, tilt_deg=(12, 8), distortion=0.03)
    drawn, on_screen = pattern_in_frame(small_target, pose, FRAME)
    smooth = disc_coverage(
        small_target, lambda p: pose.to_screen(p, small_target.screen_px, FRAME), FRAME
    )
    inside = cv2.erode(on_screen, np.ones((5, 5))) == 1
    difference = (drawn - smooth)[inside]
    assert np.abs(difference).max() < 0.15  # 4 x 4 points see an edge in steps of 1/16
    assert abs(difference.mean()) < 2e-4


def test_hidden_discs_are_dark(small_target):
    hidden = np.zeros(small_target.code.shape, bool)
    hidden[6, 8] = True
    pose = Pose(scale=1.0)
    bright, _ = pattern_in_frame(small_target, pose, FRAME)
    partly, _ = pattern_in_frame(small_target, pose, FRAME, hidden)
    radius = small_target.radii_px[int(small_target.code[6, 8])]
    assert (bright - partly).sum() == pytest.approx(np.pi * radius**2, rel=0.02)


def test_blurred_views_use_the_kernel_of_their_tile(small_lens):
    picture = np.zeros(FRAME, np.float32)
    picture[96, 80] = 1.0  # middle of the first tile
    views = blurred_frame(picture, small_lens, blend_px=0)
    half = small_lens.kernels.shape[-1] // 2
    window = views[:, 96 - half : 97 + half, 80 - half : 81 + half]
    np.testing.assert_allclose(window, small_lens.kernels[0], atol=1e-6)


def test_in_front_the_kernels_are_turned(small_lens):
    picture = np.zeros(FRAME, np.float32)
    picture[96, 80] = 1.0
    views = blurred_frame(picture, small_lens, scale=-1.0, blend_px=0)
    half = small_lens.kernels.shape[-1] // 2
    window = views[:, 96 - half : 97 + half, 80 - half : 81 + half]
    np.testing.assert_allclose(window, small_lens.kernels[0][..., ::-1, ::-1], atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_names_and_views_tell_the_side(small_lens, small_target, scale):
    shoot = simulate_shoot(small_target, small_lens, scale=scale, burst=1, sheets=1)
    assert shoot.discs[0].name.startswith("20240101_12" if scale > 0 else "20240101_13")
    assert np.sign(view_shift_px(shoot.discs[0])) == -scale


def test_native_rows_come_back_when_pixels_are_made_square():
    y = np.linspace(0, 40, 64)[:, None]
    views = np.stack([np.sin(y / 7) * np.ones(20), np.cos(y / 9) * np.ones(20)]).astype(np.float32)
    rows = native_rows(views)
    assert rows.shape == (2, 32, 20)
    tall = np.stack([cv2.resize(r, (20, 64), interpolation=cv2.INTER_LINEAR) for r in rows])
    np.testing.assert_allclose(tall[:, 3:-3], views[:, 3:-3], atol=0.01)


def test_noise_is_that_of_the_real_capture(pixel4_data):
    """Noise against brightness, from third differences along x."""

    def noise_curve(raw):
        values = raw.astype(float) * 1023 / 65535 - 64
        rough = (
            values[:, :-3] - 3 * values[:, 1:-2] + 3 * values[:, 2:-1] - values[:, 3:]
        ) / 20**0.5
        smooth = cv2.blur(values, (7, 7))[:, 1:-2]
        local = np.abs(cv2.blur(values, (3, 3))[:, 1:-2] - smooth)
        levels = []
        for low in (20, 60, 150, 300):
            chosen = (smooth > low) & (smooth < 1.3 * low)
            chosen &= local < np.quantile(local[chosen], 0.3)
            levels.append(
                1.4826 * np.median(np.abs(rough[chosen])) / np.sqrt(smooth[chosen].mean())
            )
        return np.array(levels)

    real = noise_curve(open_capture(pixel4_data / "app_capture").raw[0, 0])
    ramp = np.tile(np.geomspace(0.005, 0.6, 1200, dtype=np.float32), (2, 512, 1))
    shot = expose(ramp, Exposure(), np.random.default_rng(0), "ramp").raw[0, 0]
    np.testing.assert_allclose(noise_curve(shot), real, rtol=0.1)


def test_files_are_those_of_the_app(small_shoot, small_target, tmp_path):
    write_shoot(small_shoot, small_target, tmp_path)
    counts = {f: len(find_captures(tmp_path / f)) for f in ("discs", "white", "black", "sheets")}
    assert counts == {"discs": 2, "white": 1, "black": 1, "sheets": 3}
    opened = open_capture(tmp_path / "white")
    np.testing.assert_array_equal(opened.raw, small_shoot.white.raw)
    assert opened.pixel_aspect == 2
    assert load_target(tmp_path / "target.json").describe() == small_target.describe()
    steps = np.unique(opened.raw).astype(float) * 1023 / 65535
    np.testing.assert_allclose(steps, np.rint(steps), atol=0.01)  # 10 bits


def test_captures_in_front_have_folders_of_their_own(small_shoot, small_target, tmp_path):
    write_shoot(small_shoot, small_target, tmp_path, front=small_shoot)
    counts = {
        f: len(find_captures(tmp_path / f))
        for f in ("discs", "sheets", "front_discs", "front_white", "front_black")
    }
    expected = {"discs": 2, "sheets": 3, "front_discs": 2, "front_white": 1, "front_black": 1}
    assert counts == expected
    assert not (tmp_path / "front_sheets").exists()


def test_the_same_seed_gives_the_same_captures(small_lens, small_target):
    once, again, other = (
        simulate_shoot(small_target, small_lens, burst=1, sheets=1, seed=s) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(once.discs[0].raw, again.discs[0].raw)
    assert (once.discs[0].raw != other.discs[0].raw).any()


def test_a_folder_that_cannot_be_written(small_shoot, small_target, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CalibrationError, match="cannot be written"):
        write_shoot(small_shoot, small_target, tmp_path / "file")
