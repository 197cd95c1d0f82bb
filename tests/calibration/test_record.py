from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from napari_dpdeblur.calibration import Calibration, Field, load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.errors import CalibrationError


def replaced(calibration: Calibration, **changes: object) -> Calibration:
    return dataclasses.replace(calibration, **changes)


# prepare()


def test_prepare_crops_to_the_field_and_leaves_the_left_view_alone(calibration, make_capture):
    capture = make_capture(48, 64)
    prepared = calibration.prepare(capture)
    assert prepared.shape == (2, 1, 24, 32)
    assert prepared.dtype == np.float32
    np.testing.assert_array_equal(prepared[0], capture.views[0, :, 8:32, 16:48])


def test_prepare_multiplies_the_right_view_by_the_smoothed_ratio(calibration, make_capture):
    capture = make_capture(48, 64)
    ratio = calibration.vignetting[0].astype(float) / calibration.vignetting[1]
    ratio = uniform_filter(ratio, 101, mode="nearest")
    expected = (capture.views[1] * ratio)[:, 8:32, 16:48]
    np.testing.assert_allclose(calibration.prepare(capture)[1], expected, rtol=1e-6)


def test_prepare_without_vignetting_changes_no_value(calibration, make_capture):
    capture = make_capture(48, 64, channels=3)
    prepared = replaced(calibration, vignetting=None).prepare(capture)
    np.testing.assert_array_equal(prepared, capture.views[..., 8:32, 16:48])


def test_prepare_makes_pixels_square_first(calibration, make_capture):
    capture = make_capture(24, 64, pixel_aspect=2.0)
    expected = calibration.prepare(capture.with_square_pixels())
    np.testing.assert_array_equal(calibration.prepare(capture), expected)


def test_prepare_takes_a_capture_of_the_fields_size_as_the_field(calibration, make_capture):
    whole = make_capture(48, 64)
    field = whole.cropped(8, 16, 24, 32)
    np.testing.assert_array_equal(calibration.prepare(field), calibration.prepare(whole))


@pytest.mark.parametrize(
    ("shape", "changes"),
    [
        ((48, 60), {}),  # another size
        ((64, 48), {}),  # turned
        ((24, 30), {}),  # another crop
        ((48, 64), {"orientation": "transposed"}),
        ((48, 64), {"pixel_aspect": 1.3}),
    ],
)
def test_a_mismatch_names_capture_and_calibration(calibration, make_capture, shape, changes):
    capture = make_capture(*shape, **changes)
    expected = (
        rf"The capture scene \({shape[0]} x {shape[1]} px, .*\) does not match the calibration of "
        r"Test phone \(frame of 48 x 64 px, landscape, field of 24 x 32 px at \(8, 16\)\)"
    )
    with pytest.raises(CalibrationError, match=expected):
        calibration.prepare(capture)


def test_prepare_gives_the_published_views(pixel4_data: Path):
    """The reference holds tile (2, 3) of scene 005, over the maximum of the whole scene."""
    reference = np.load(pixel4_data / "reference" / "objective_tile_2_3_scene_005.npz")["views"]
    calibration = load_calibration(pixel4_data / "pixel4" / "calibration")
    views = calibration.prepare(open_capture(pixel4_data / "pixel4" / "005_left.png"))[:, 0]
    tile = (views / views.max())[:, 2 * 168 : 3 * 168, 3 * 168 : 4 * 168]
    np.testing.assert_allclose(tile, reference, atol=5e-7)


def test_the_ratio_is_smoothed_over_the_whole_frame_as_published(pixel4_data: Path):
    """Data loss of the whole scene 005 at a constant image: smoothing the crop gives 23010.2."""
    calibration = load_calibration(pixel4_data / "pixel4" / "calibration")
    capture = open_capture(pixel4_data / "pixel4" / "005_left.png")
    views = calibration.prepare(capture)[:, 0].astype(np.float64)
    views /= views.max()
    bias = 9.7343266e-06  # mean over the layers of the published bias corrections
    loss = np.sqrt(1 + ((views - views.mean()) ** 2 - bias) / 0.1**2) - 1
    data = 2.5e4 * 0.5 / views.mean() * loss.mean()
    assert data == pytest.approx(23010.94, abs=0.05)


def test_a_capture_of_the_phone_app_fits_the_published_calibration(pixel4_data: Path):
    calibration = load_calibration(pixel4_data / "pixel4")
    left = pixel4_data / "app_capture" / "20210705_161427_778_left.pgm"
    assert calibration.prepare(open_capture(left)).shape == (2, 1, 1008, 1344)


# the record


def test_arrays_are_read_only_copies(calibration, kernels):
    kernels[:] = 0
    assert calibration.kernels.sum() == pytest.approx(12)
    with pytest.raises(ValueError, match="read-only"):
        calibration.kernels[0] = 0


def test_the_hash_follows_what_changes_a_result(calibration):
    same = replaced(calibration, camera="Other name", source={}, captured_on=None)
    assert same.content_hash() == calibration.content_hash()
    changed = [
        replaced(calibration, kernels=calibration.kernels[::-1]),
        replaced(calibration, vignetting=None),
        replaced(calibration, field=Field(9, 16, 24, 32)),
        replaced(calibration, rows=3, cols=2),
        replaced(calibration, excess_variance_px2=(1.0, 0.0)),
        replaced(calibration, excess_variance_px2=(0.0, 1.0)),
    ]
    front = calibration.kernels[..., ::-1, ::-1]
    for scale in (-1.0, -0.5):
        changed.append(replaced(calibration, front_kernels=front, front_scale=scale))
    changed.append(replaced(calibration, front_kernels=front**2))
    hashes = {c.content_hash() for c in [calibration, *changed]}
    assert len(hashes) == 10
    assert replaced(calibration, front_scale=-0.5).content_hash() == calibration.content_hash()


def test_describe_is_json(calibration):
    import json

    description = json.loads(json.dumps(calibration.describe()))
    assert description["camera"] == "Test phone"
    assert description["field"] == {"top": 8, "left": 16, "height": 24, "width": 32}
    assert description["front"] == "derived from the back"
    both = replaced(calibration, front_kernels=calibration.kernels[..., ::-1, ::-1])
    assert both.describe()["front"] == "measured"


def test_the_front_side_is_a_calibration_of_its_own(calibration):
    assert calibration.front_side() is None
    thumbnail = np.ones((3, 4), np.float32)
    both = replaced(
        calibration,
        front_kernels=calibration.kernels[..., ::-1, ::-1],
        verdict={"grade": "bad", "front": {"grade": "acceptable"}},
        diagnostics={"thumbnail": 0 * thumbnail, "front_thumbnail": thumbnail},
    )
    front = both.front_side()
    np.testing.assert_array_equal(front.kernels, both.front_kernels)
    assert front.front_side() is None
    assert front.verdict == {"grade": "acceptable"}
    assert set(front.diagnostics) == {"thumbnail"}
    assert front.diagnostics["thumbnail"].all()
    with pytest.raises(ValueError, match="read-only"):
        both.front_kernels[0] = 0


# bad numbers


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contain NaN or infinity"), (-0.1, "contain negative values")],
)
def test_bad_kernel_values_are_refused(calibration, kernels, value, message):
    kernels[3, 1, 2, 2] = value
    with pytest.raises(CalibrationError, match=message):
        replaced(calibration, kernels=kernels)


def test_kernels_of_even_size_are_refused(calibration, kernels):
    with pytest.raises(CalibrationError, match=r"need an odd size .* but these are 4 px wide"):
        replaced(calibration, kernels=kernels[..., :4, :4])


def test_another_number_of_kernels_is_refused(calibration, kernels):
    with pytest.raises(CalibrationError, match="2 x 3 tiles needs 6 kernels per view, but 5"):
        replaced(calibration, kernels=kernels[:5])


def test_object_kernels_are_refused(calibration, kernels):
    with pytest.raises(CalibrationError, match="array holds object"):
        replaced(calibration, kernels=kernels.astype(object))


@pytest.mark.parametrize("part", [np.s_[:5], np.s_[..., 1:-1, 1:-1]])
def test_a_front_grid_of_other_tiles_or_kernel_size_is_refused(calibration, kernels, part):
    message = (
        r"in front of the focus plane have the shape \(.*\), but those behind it have "
        r"\(6, 2, 5, 5\); use the same tiles and the same kernel size for both"
    )
    with pytest.raises(CalibrationError, match=message):
        replaced(calibration, front_kernels=kernels[..., ::-1, ::-1][part])


def test_a_front_grid_of_the_same_side_is_refused(calibration, kernels):
    message = r"disparity of .* px and those behind it .* px, but the signs must differ"
    with pytest.raises(CalibrationError, match=message):
        replaced(calibration, front_kernels=kernels)


def test_bad_values_of_a_front_grid_are_refused(calibration, kernels):
    front = kernels[..., ::-1, ::-1].copy()
    front[0, 0, 0, 0] = np.nan
    with pytest.raises(CalibrationError, match="contain NaN or infinity"):
        replaced(calibration, front_kernels=front)


@pytest.mark.parametrize("scale", [0.0, 1.0, float("nan"), -float("inf")])
def test_a_front_scale_that_is_not_negative_is_refused(calibration, kernels, scale):
    with pytest.raises(CalibrationError, match=f"is {scale:g}, but it must be a negative number"):
        replaced(calibration, front_kernels=kernels[..., ::-1, ::-1], front_scale=scale)


@pytest.mark.parametrize("field", [Field(-1, 0, 24, 32), Field(30, 0, 24, 32), Field(0, 0, 1, 32)])
def test_a_field_outside_the_frame_is_refused(calibration, field):
    with pytest.raises(CalibrationError, match="does not fit inside the frame of 48 x 64 px"):
        replaced(calibration, field=field)


def test_a_white_capture_of_another_size_is_refused(calibration, white):
    message = r"shape \(2, 48, 60\), but .* needs \(2, 48, 64\)"
    with pytest.raises(CalibrationError, match=message):
        replaced(calibration, vignetting=white[..., :60])


@pytest.mark.parametrize("value", [0.0, -0.1, np.nan])
def test_a_white_capture_without_light_is_refused(calibration, white, value):
    white[1, 5, 5] = value
    with pytest.raises(CalibrationError, match="have invalid pixels"):
        replaced(calibration, vignetting=white)


@pytest.mark.parametrize("excess", [(-1.0, 0.0), (0.0, 101.0), (float("nan"), 0.0)])
def test_an_excess_that_no_kernel_has_is_refused(calibration, excess):
    with pytest.raises(CalibrationError, match="The excess variance of this calibration is"):
        replaced(calibration, excess_variance_px2=excess)
