"""The whole calibration on small captures, and wrong input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.calibration import Field, load_calibration, save_calibration
from napari_dpdeblur.calibration.captures import Captures, merge_burst
from napari_dpdeblur.calibration.report.picture import calibration_picture
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.sides import centroids_px, disparity_px
from napari_dpdeblur.calibration.solve.observations import central_field
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.verdict import verdict_lines
from napari_dpdeblur.datasets.synthetic.calibration_captures import Exposure, simulate_shoot
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.errors import CalibrationError, CaptureError

FRAME = (384, 480)
FIELD = Field(24, 32, 336, 416)


def failing(captures, target, settings, message):
    with pytest.raises((CalibrationError, CaptureError), match=message):
        calibrate(captures, target, settings, field=FIELD)


def centred(kernels):
    """Kernels moved by whole pixels and fractions so that each pair has its middle at 0."""
    size = kernels.shape[-1]
    shift = centroids_px(kernels).mean(axis=1)
    phase = np.fft.fftfreq(size)[:, None] * shift[:, None, None, None, 1]
    phase = phase + np.fft.rfftfreq(size) * shift[:, None, None, None, 0]
    spectrum = np.fft.rfft2(kernels) * np.exp(2j * np.pi * phase)
    return np.fft.irfft2(spectrum, s=(size, size))


def test_a_run_recovers_the_lens(small_run, small_lens):
    found, truth = centred(small_run.kernels), centred(small_lens.kernels)
    error = np.sqrt(((found - truth) ** 2).sum((-2, -1)) / (truth**2).sum((-2, -1)))
    assert error.mean() < 0.12
    difference = disparity_px(small_run.kernels) - disparity_px(small_lens.kernels)
    assert np.abs(difference).max() < 0.15
    window = FIELD.window
    light = small_lens.vignetting
    np.testing.assert_allclose(
        (small_run.vignetting[0] / small_run.vignetting[1])[window].mean(0),
        (light[0] / light[1])[window].mean(0),
        rtol=0.01,
    )


def test_provenance_and_picture_survive_the_file(small_run, tmp_path):
    save_calibration(small_run, tmp_path / "c.dpcal")
    loaded = load_calibration(tmp_path / "c.dpcal")
    assert loaded.verdict == small_run.verdict
    assert len(loaded.source["captures"]["discs"]) == 2
    assert loaded.source["settings"]["kernel_px"] == 23
    assert set(loaded.diagnostics) == {"thumbnail", "residual", "discs"}
    np.testing.assert_array_equal(calibration_picture(loaded), calibration_picture(small_run))
    assert loaded.content_hash() == replace(loaded, diagnostics={}).content_hash()


def test_covered_discs_are_noticed_and_do_not_spoil_the_kernels(
    small_lens, small_target, small_settings
):
    hidden = np.zeros(small_target.code.shape, bool)
    hidden[4, 5] = hidden[8, 9] = True
    shoot = simulate_shoot(small_target, small_lens, Pose(scale=1.0), burst=2, hidden=hidden)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black], shoot.sheets)
    found = calibrate(captures, small_target, small_settings, field=FIELD)
    assert "2 discs are occluded" in found.verdict["notes"][0]
    kernels, truth = centred(found.kernels), centred(small_lens.kernels)
    error = np.sqrt(((kernels - truth) ** 2).sum((-2, -1)) / (truth**2).sum((-2, -1)))
    assert error.mean() < 0.14


def test_a_screen_that_misses_tiles_fills_them(small_lens, small_target, small_settings):
    """A screen that ends in the middle of the picture leaves tiles without pattern."""
    pose = Pose(scale=1.0, offset_px=(-190, 0))
    shoot = simulate_shoot(small_target, small_lens, pose, burst=2, sheets=1)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black])
    found = calibrate(captures, small_target, small_settings, field=FIELD)
    assert found.verdict["filled_tiles"] == [2, 5]
    assert found.verdict["grade"] == "bad"
    assert any("no white sheet" in note for note in found.verdict["notes"])
    assert any("does not cover" in line for line in verdict_lines(found.verdict))
    assert calibration_picture(found).shape[2] == 3


def test_a_pattern_beyond_every_border_is_noted(small_run):
    assert any("extends beyond every image border" in note for note in small_run.verdict["notes"])


def test_discs_cut_off_at_every_border_with_too_few_left(small_lens, small_target, small_settings):
    pose = Pose(scale=2.6)
    shoot = simulate_shoot(small_target, small_lens, pose, burst=1, sheets=1)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black])
    failing(
        captures,
        small_target,
        small_settings,
        "the pattern is cut off at every border.* move the camera away from the screen",
    )


def test_no_discs(small_captures, small_target, small_settings):
    captures = replace(small_captures, discs=small_captures.white)
    failing(captures, small_target, small_settings, "no discs were found")


def test_white_and_black_swapped(small_captures, small_target, small_settings):
    captures = replace(small_captures, white=small_captures.black, black=small_captures.white)
    failing(captures, small_target, small_settings, "seem to be swapped")


def test_saturated_white(small_lens, small_target, small_settings):
    exposure = Exposure(screen_white=1.6)
    shoot = simulate_shoot(small_target, small_lens, Pose(scale=1.0), exposure, burst=1, sheets=1)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black])
    failing(captures, small_target, small_settings, r"white screen .* is saturated in .* % of")


def test_a_dark_screen(small_lens, small_target, small_settings):
    exposure = Exposure(screen_white=0.01)
    shoot = simulate_shoot(small_target, small_lens, Pose(scale=1.0), exposure, burst=1, sheets=1)
    captures = Captures(shoot.discs, [shoot.white], [shoot.black])
    failing(captures, small_target, small_settings, "is hardly brighter than the black screen")


def test_another_pattern(small_captures, small_target, small_settings):
    other = Target(
        small_target.screen_px,
        small_target.pitch_px,
        small_target.first_disc_px,
        small_target.radii_px,
        ~small_target.code,
    )
    failing(small_captures, other, small_settings, "sizes do not match the pattern")


def cropped(capture):
    return capture.cropped(0, 0, 100, 200)


def test_white_of_another_size(small_captures, small_target, small_settings):
    captures = replace(small_captures, white=[cropped(small_captures.white[0])])
    failing(
        captures, small_target, small_settings, r"white screen .* \(200 x 100 px\) and the discs"
    )


def test_sheets_of_another_size(small_captures, small_target, small_settings):
    captures = replace(small_captures, sheets=[cropped(small_captures.sheets[0])])
    failing(captures, small_target, small_settings, r"white sheets \(200 x 200 px\) and the discs")


def test_discs_of_different_sizes(small_captures, small_target, small_settings):
    discs = [small_captures.discs[0], cropped(small_captures.discs[1])]
    captures = replace(small_captures, discs=discs)
    failing(captures, small_target, small_settings, "cannot be merged with")


@pytest.mark.parametrize("name", ["discs", "white", "black"])
def test_a_missing_group(name, small_captures, small_target, small_settings):
    captures = replace(small_captures, **{name: []})
    failing(captures, small_target, small_settings, f"No capture of the {name}.* was given")


def test_a_still_burst_is_averaged_and_a_moved_one_aligned(small_shoot):
    first, second = small_shoot.discs
    still = merge_burst([first, second], "discs")
    np.testing.assert_allclose(still.raw, (first.raw.astype(float) + second.raw) / 2, atol=0.51)
    moved = replace(second, raw=np.roll(second.raw, 3, axis=-1))
    merged = merge_burst([first, moved], "discs")
    inner = np.s_[..., 20:-20, 20:-20]
    noise = np.std((first.raw.astype(float) - second.raw)[inner])
    assert np.std((merged.raw - first.raw.astype(float))[inner]) < noise


def test_a_kernel_size_that_is_too_small_is_said(small_captures, small_target, small_settings):
    tight = small_settings.model_copy(update={"kernel_px": 11})
    verdict = calibrate(small_captures, small_target, tight, field=FIELD).verdict
    assert any("kernel size is too small" in line for line in verdict_lines(verdict))


def test_the_central_field_is_the_published_one():
    assert central_field((1512, 2016)) == Field(252, 336, 1008, 1344)
