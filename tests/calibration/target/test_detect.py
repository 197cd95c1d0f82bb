"""Finding the pattern: poses, hidden discs, wrong patterns."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration.target.blobs import lattice_vectors
from napari_dpdeblur.calibration.target.detect import detect_discs
from napari_dpdeblur.calibration.target.disc_coverage import disc_coverage
from napari_dpdeblur.calibration.target.geometry import ScreenGeometry, pixel_grid, project
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.errors import CalibrationError

FRAME = (480, 640)
SIZE = (640, 480)


def picture_of(target, pose, blur_px=4.0, noise=0.02, hidden=None, frame=FRAME, seed=0):
    """The pattern in the frame, blurred by a disc-like kernel, with noise: float32 (H, W)."""

    def to_screen(camera):
        return pose.to_screen(camera, target.screen_px, frame)

    points = to_screen(pixel_grid(*frame))
    on_screen = ((points > -0.5) & (points < np.array(target.screen_px) - 0.5)).all(-1)
    picture = disc_coverage(target, to_screen, frame) * on_screen
    if hidden is not None:
        picture = picture * ~hidden[target.nearest_disc(points)]
    y, x = np.mgrid[-30:31, -30:31]
    kernel = np.clip(blur_px + 0.5 - np.hypot(x, y), 0, 1)
    blurred = cv2.filter2D(picture.astype(np.float32), -1, kernel / kernel.sum())
    return blurred + np.random.default_rng(seed).normal(0, noise, frame).astype(np.float32)


def random_case(seed):
    generator = np.random.default_rng(seed)
    target = Target.for_screen(700, 520, 30.0)
    pose = Pose(
        scale=generator.uniform(0.9, 1.25),
        rotation_deg=generator.uniform(-30, 30),
        tilt_deg=tuple(generator.uniform(-15, 15, 2)),
        offset_px=tuple(generator.uniform(-50, 50, 2)),
        distortion=generator.uniform(-0.05, 0.05),
    )
    hidden = generator.random(target.code.shape) < generator.uniform(0, 0.1)
    blur_px = generator.uniform(0.3, 1.6) * 30 / 50 * 12.5  # as large beside a pitch as in reality
    return target, pose, picture_of(target, pose, blur_px, 0.03, hidden, seed=seed)


def wrong_discs(found, target, pose, frame=FRAME):
    seen = pose.to_screen(found.centres, target.screen_px, frame)
    true = target.centres_px[found.disc[:, 1], found.disc[:, 0]]
    return int((np.hypot(*(seen - true).T) > 0.4 * target.pitch_px).sum())


def test_random_poses_are_found_or_refused_but_never_wrong():
    refused = []
    for seed in range(24):
        target, pose, picture = random_case(seed)
        try:
            found = detect_discs(picture, target)
        except CalibrationError as error:
            refused.append(str(error))
            continue
        assert wrong_discs(found, target, pose) == 0, f"pose {seed}"
    assert len(refused) <= 1, refused


def test_geometry_is_recovered_to_a_tenth_of_a_pixel():
    target = Target.for_screen(700, 520, 30.0)
    pose = Pose(scale=1.0, rotation_deg=8, tilt_deg=(6, -5), distortion=-0.04)
    found = detect_discs(picture_of(target, pose), target)
    camera = pixel_grid(5, 5) * [100, 80] + [120, 80]
    screen = found.geometry.to_screen(camera)
    true = pose.to_screen(camera, target.screen_px, FRAME)
    assert np.abs(screen - true).max() < 0.15
    assert found.rms_px < 0.5
    report = found.describe()
    assert report["discs_found"] == len(found.centres)
    assert report["discs_found"] > 0.9 * report["discs_expected"]


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_camera_turned_by_quarters_is_understood(quarters):
    target = Target.for_screen(700, 520, 30.0)
    pose = Pose(scale=1.0, rotation_deg=90.0 * quarters)
    found = detect_discs(picture_of(target, pose), target)
    assert wrong_discs(found, target, pose) == 0


def test_a_small_part_of_the_pattern_is_placed():
    target = Target.for_screen(1600, 1200, 30.0)
    pose = Pose(scale=1.2, rotation_deg=-12, offset_px=(-250, 180))
    found = detect_discs(picture_of(target, pose), target)
    assert wrong_discs(found, target, pose) == 0


def test_extra_blobs_do_not_confuse():
    target = Target.for_screen(700, 520, 30.0)
    pose = Pose(scale=1.0, rotation_deg=5)
    picture = picture_of(target, pose)
    generator = np.random.default_rng(3)
    for x, y in generator.uniform(20, 460, (25, 2)):
        cv2.circle(picture, (int(x), int(y)), 6, 1.0, -1)
    found = detect_discs(picture, target)
    assert wrong_discs(found, target, pose) == 0


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros(FRAME, np.float32),
        np.random.default_rng(0).normal(0.5, 0.1, FRAME).astype(np.float32),
        np.tile(np.linspace(0, 1, FRAME[1], dtype=np.float32), (FRAME[0], 1)),
    ],
    ids=["black", "noise", "ramp"],
)
def test_a_picture_without_discs(picture):
    target = Target.for_screen(700, 520, 30.0)
    with pytest.raises(CalibrationError, match=r"shot: (no|only \d+ whole) discs"):
        detect_discs(picture, target, "shot")


def test_a_grid_of_equal_discs_is_another_pattern():
    target = Target.for_screen(700, 520, 30.0)
    plain = Target(target.screen_px, 30.0, target.first_disc_px, (9.0, 9.0), target.code)
    picture = picture_of(plain, Pose(scale=1.0))
    with pytest.raises(CalibrationError, match="sizes do not match the pattern"):
        detect_discs(picture, target, "shot")


def test_the_pattern_of_another_screen_is_refused_or_placed_rightly():
    shown = Target.for_screen(700, 520, 30.0)
    other = Target(
        shown.screen_px,
        30.0,
        shown.first_disc_px,
        shown.radii_px,
        np.random.default_rng(5).random(shown.code.shape) < 0.5,
    )
    with pytest.raises(CalibrationError, match="sizes do not match the pattern"):
        detect_discs(picture_of(shown, Pose(scale=1.0)), other, "shot")


def test_a_mirrored_picture_is_refused():
    target = Target.for_screen(700, 520, 30.0)
    picture = np.ascontiguousarray(picture_of(target, Pose(scale=1.0))[:, ::-1])
    with pytest.raises(CalibrationError, match="do not mirror it"):
        detect_discs(picture, target, "shot")


def test_two_halves_that_do_not_fit_together_are_refused():
    """The right half of the picture is moved by one disc: a lattice that slipped."""
    target = Target.for_screen(1000, 520, 30.0)
    picture = picture_of(target, Pose(scale=1.0), noise=0.0)
    moved = picture_of(target, Pose(scale=1.0, offset_px=(0, 30)), noise=0.0)
    picture[:, 320:] = moved[:, 320:]
    with pytest.raises(CalibrationError, match=r"in part of the image only|do not match"):
        detect_discs(picture, target, "shot")


@pytest.mark.parametrize("scale", [3.0, 4.0])
def test_too_few_discs_because_the_camera_is_too_close(scale):
    target = Target.for_screen(700, 520, 30.0)
    with pytest.raises(CalibrationError, match="shot: the pattern is cut off at every border"):
        detect_discs(picture_of(target, Pose(scale=scale)), target, "shot")


def test_a_screen_that_fills_a_corner_only_is_not_cut_off_everywhere():
    target = Target.for_screen(700, 520, 30.0)
    picture = picture_of(target, Pose(scale=0.9, offset_px=(420, 330)))
    with pytest.raises(CalibrationError, match=r"shot: (no|only \d+ whole) discs"):
        detect_discs(picture, target, "shot")


def test_steps_of_a_turned_lattice():
    target = Target.for_screen(700, 520, 30.0)
    steps = lattice_vectors(picture_of(target, Pose(scale=1.0, rotation_deg=20)))
    turn = np.radians(20)
    expected = 30 * np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    np.testing.assert_allclose(steps, expected, atol=2.5)


def test_camera_and_screen_coordinates_are_inverse():
    matrix = np.array([[1.1, 0.1, 20], [-0.05, 0.9, 30], [1e-4, -5e-5, 1]])
    geometry = ScreenGeometry(matrix, FRAME, (0.05, -0.02))
    camera = pixel_grid(4, 4) * [150, 110] + [20, 20]
    np.testing.assert_allclose(geometry.to_camera(geometry.to_screen(camera)), camera, atol=1e-4)
    np.testing.assert_allclose(project(np.eye(3), camera), camera)
