from dataclasses import replace

import cv2
import numpy as np
import pytest
from photo_scene import as_capture, as_photo, turned

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters
from napari_dpdeblur.fitting.photo.alignment import Warp, refine, sampled
from napari_dpdeblur.fitting.photo.overlap import write_overlap
from napari_dpdeblur.fitting.photo.registration import RegistrationError, register

PARAMETERS = RegistrationParameters()


def _error_px(found, matrix):
    height, width = found.frame.shape
    y, x = np.mgrid[20 : height - 20 : 10, 20 : width - 20 : 10]
    there = np.stack(found.warp.positions(x, y))
    true = np.einsum("ij,jkl->ikl", matrix, np.stack([x, y, np.ones_like(x)]))
    return float(np.hypot(*(there - true)).mean())


def test_a_photo_with_another_pose_focus_and_exposure_is_aligned(colors):
    moved, matrix = turned(colors)
    noise = np.random.default_rng(0).normal(0, 0.01, moved.shape)
    blurred = np.stack([cv2.GaussianBlur(p, (0, 0), 1.5) for p in moved])
    capture = as_capture(cv2.GaussianBlur(colors[1], (0, 0), 1.0))
    found = register(capture, as_photo(0.5 * blurred + noise), PARAMETERS)
    assert _error_px(found, matrix) < 0.5
    assert found.describe()["correlation"] > 0.7
    assert 0.7 < found.overlap < 1
    assert found.picture().shape[2] == 3


def test_a_photo_of_another_size_turned_by_a_right_angle_is_aligned(colors):
    large = np.stack([cv2.resize(p, None, fx=1.8, fy=1.8) for p in colors])
    upright = np.ascontiguousarray(np.rot90(large, axes=(1, 2)))
    found = register(as_capture(colors[1]), as_photo(upright), PARAMETERS)
    box = (0, 0, *colors.shape[1:])
    seen = sampled(found.photo.pixels[1], found.warp, box)[20:-20, 20:-20]
    assert np.corrcoef(seen.ravel(), colors[1][20:-20, 20:-20].ravel())[0, 1] > 0.98


def test_lens_distortion_is_followed(colors):
    height, width = colors.shape[1:]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    u, v = (x - width / 2) / (width / 2), (y - height / 2) / (width / 2)
    bent = 1 + 0.015 * (u * u + v * v)
    # remap gives the colour of each pixel of the photo, so this is the inverse of the distortion
    maps = (width / 2 * (1 + u * bent), height / 2 + v * bent * width / 2)
    photo = np.stack([cv2.remap(p, *maps, cv2.INTER_CUBIC) for p in colors])
    found = register(as_capture(colors[1]), as_photo(photo), PARAMETERS)
    inner = slice(30, -30)
    seen = sampled(photo[1], found.warp, (0, 0, height, width))[inner, inner]
    plain = Warp.of(found.warp.homography, (height, width))
    flat = sampled(photo[1], plain, (0, 0, height, width))[inner, inner]
    truth = colors[1][inner, inner]
    assert np.abs(seen - truth).mean() < 0.75 * np.abs(flat - truth).mean()


def test_parallax_follows_the_defocus(colors):
    defocus = np.zeros(colors.shape[1:], np.float32)
    defocus[:, 160:] = 1
    y, x = np.mgrid[: colors.shape[1], : colors.shape[2]].astype(np.float32)
    photo = cv2.remap(colors[1], x - 2.0 * defocus, y, cv2.INTER_CUBIC)
    start = Warp.of(np.eye(3), defocus.shape)
    found = refine(colors[1], photo, start, PARAMETERS, defocus, levels=1).warp
    far, near = (float(found.positions(np.array([240]), np.array([120]), d)[0][0]) for d in (0, 1))
    assert near - far == pytest.approx(2.0, abs=0.7)


def test_a_transposed_capture_takes_an_upright_photo(colors):
    upright, _ = turned(colors, shift=(4, 3))
    transposed = np.ascontiguousarray(colors[1].T)
    found = register(
        as_capture(transposed, orientation="transposed"), as_photo(upright), PARAMETERS
    )
    assert found.alignment.correlation > 0.8
    assert found.picture().shape[0] < found.picture().shape[1]


def _refused(colors, photo, match):
    with pytest.raises(RegistrationError, match=match) as caught:
        register(as_capture(colors[1]), as_photo(photo), PARAMETERS)
    return caught.value


def test_photos_that_do_not_match_are_refused_with_a_picture(colors, other_colors, tmp_path):
    error = _refused(
        colors, other_colors, r"photo\.jpg does not (show the scene of|match) the capture"
    )
    path = write_overlap(tmp_path / "overlap.png", error.picture)
    assert cv2.imread(str(path)).shape == error.picture.shape
    _refused(colors, colors[..., ::-1], r"^The photo photo\.jpg is mirrored; switch off mirroring")
    _refused(colors, colors[:, ::-1], r"is mirrored")
    _refused(colors, 0 * colors, r"^The photo photo\.jpg is black or uniform; choose a photo of")
    _refused(colors, 0 * colors + 0.5, r"is black or uniform")
    noise = np.random.default_rng(0).random(colors.shape)
    _refused(colors, noise, r"does not show the scene")


def test_a_photo_of_a_small_part_is_refused(colors):
    part = np.stack([cv2.resize(p[60:150, 80:200], None, fx=3, fy=3) for p in colors])
    _refused(colors, part, r"shows only \d+% of the capture scene; take one that shows the whole")


def test_a_photo_whose_details_differ_is_refused(colors):
    strict = PARAMETERS.model_copy(update={"least_agreement": 0.999})
    with pytest.raises(RegistrationError, match=r"does not match the capture scene in detail"):
        register(as_capture(colors[1]), as_photo(turned(colors)[0]), strict)


def test_a_capture_in_colour_needs_no_photo(colors):
    raw = np.stack([colors, colors]).astype(np.float32)
    capture = as_capture(colors[1])
    with pytest.raises(FitError, match=r"is in colour already; fit it without the photo\."):
        register(replace(capture, raw=raw), as_photo(colors), PARAMETERS)


def test_the_real_photo_of_google2019_is_aligned_at_points_picked_by_hand(pixel4_data):
    from color import HAND_LIMIT_PX, hand_errors_px

    if not (pixel4_data / "google2019").is_dir():
        pytest.skip("google2019 is not there")
    assert max(hand_errors_px(pixel4_data).values()) < HAND_LIMIT_PX
