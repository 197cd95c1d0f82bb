"""A calibration with the target behind and in front of the focus plane, and mixed-up captures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.calibration import Field, load_calibration, save_calibration
from napari_dpdeblur.calibration.captures import Captures, TargetSet
from napari_dpdeblur.calibration.distance import relative_scale, with_lens_constants
from napari_dpdeblur.calibration.report.picture import calibration_picture
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.sides import centroids_px, disparity_px, disparity_ratio, turned
from napari_dpdeblur.calibration.verdict import verdict_lines
from napari_dpdeblur.datasets.synthetic.calibration_captures import Exposure, simulate_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_front_kernels
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.errors import CalibrationError

FIELD = Field(24, 32, 336, 416)
POSE = Pose(scale=1.0, rotation_deg=-2.0, tilt_deg=(-2.0, 3.0))


@pytest.fixture(scope="module")
def lens(small_lens):
    """The small lens with kernels in front that are not the turned ones."""
    front = synthetic_front_kernels(2, 3, size=23, disparity_px=2.5)
    scale = disparity_ratio(front, small_lens.kernels)
    return replace(small_lens, front_kernels=front, front_scale=scale)


@pytest.fixture(scope="module")
def front_set(lens, small_target):
    shoot = simulate_shoot(small_target, lens.front_side(), POSE, burst=2, sheets=0, seed=1)
    return TargetSet(shoot.discs, [shoot.white], [shoot.black])


@pytest.fixture(scope="module")
def both(small_captures, front_set):
    return replace(small_captures, front=front_set)


@pytest.fixture(scope="module")
def found(both, small_target, small_settings):
    return calibrate(both, small_target, small_settings, field=FIELD)


def kernel_error(found, truth):
    """Mean relative L2 error of kernels with their common offset removed."""
    found, truth = _centred(found), _centred(truth)
    error = np.sqrt(((found - truth) ** 2).sum((-2, -1)) / (truth**2).sum((-2, -1)))
    return error.mean()


def _centred(kernels):
    size = kernels.shape[-1]
    shift = centroids_px(kernels).mean(axis=1)
    phase = np.fft.fftfreq(size)[:, None] * shift[:, None, None, None, 1]
    phase = phase + np.fft.rfftfreq(size) * shift[:, None, None, None, 0]
    return np.fft.irfft2(np.fft.rfft2(kernels) * np.exp(2j * np.pi * phase), s=(size, size))


def test_both_sides_are_recovered(found, lens):
    behind = kernel_error(found.kernels, lens.kernels)
    in_front = kernel_error(found.front_kernels, lens.front_kernels)
    assert behind < 0.1
    assert in_front < 1.2 * behind
    assert kernel_error(turned(found.kernels), lens.front_kernels) > 3 * in_front
    difference = disparity_px(found.front_kernels) - disparity_px(lens.front_kernels)
    assert np.abs(difference).max() < 0.1
    assert found.front_scale == pytest.approx(lens.front_scale, abs=0.02)
    assert found.front == "measured"


def test_the_back_is_as_if_it_were_alone(found, small_run):
    np.testing.assert_array_equal(found.kernels, small_run.kernels)
    assert {k: v for k, v in found.verdict.items() if k != "front"} == small_run.verdict


def test_provenance_verdict_and_picture_of_both_sides_survive_the_file(found, tmp_path):
    save_calibration(found, tmp_path / "c.dpcal")
    loaded = load_calibration(tmp_path / "c.dpcal")
    assert loaded.content_hash() == found.content_hash()
    assert loaded.verdict == found.verdict
    assert len(loaded.source["captures"]["front_discs"]) == 2
    assert loaded.verdict["front"]["mean_disparity_px"] == pytest.approx(2.5, abs=0.3)
    assert {"thumbnail", "front_thumbnail", "front_residual", "front_discs"} <= set(
        loaded.diagnostics
    )
    picture = calibration_picture(loaded)
    np.testing.assert_array_equal(picture, calibration_picture(found))
    alone = calibration_picture(replace(found, front_kernels=None))
    assert len(picture) > 1.5 * len(alone)


def test_the_worse_side_decides_and_both_are_told(both, lens, small_target, small_settings):
    dark = Exposure(screen_white=0.05)
    shoot = simulate_shoot(small_target, lens.front_side(), POSE, dark, burst=1, sheets=0)
    captures = replace(both, front=TargetSet(shoot.discs, [shoot.white], [shoot.black]))
    verdict = calibrate(captures, small_target, small_settings, field=FIELD).verdict
    assert verdict["grade"] == verdict["front"]["grade"] == "bad"
    lines = verdict_lines(verdict)
    assert lines[0] == "verdict: bad"
    assert "behind the focus plane: good" in lines
    below = lines[lines.index("in front of the focus plane: bad") :]
    assert any("captures are dark" in line for line in below)


def test_events_of_both_sides_are_in_order(both, small_target, small_settings):
    quick, events = small_settings.model_copy(update={"iterations": 2}), []
    calibrate(both, small_target, quick, field=FIELD, on_event=events.append)
    fractions = [event.fraction for event in events]
    assert fractions == sorted(fractions)
    assert sum(event.discs is not None for event in events) == 2
    assert any(event.detail == "white screen in front of the focus plane" for event in events)
    assert any(event.detail == "tile 12 of 12" for event in events)


# one set alone


@pytest.fixture(scope="module")
def from_front(front_set, small_captures, small_target, small_settings):
    groups = {f"front_{name}": group for name, group in vars(front_set).items()}
    nothing = {name: [] for name in ("discs", "white", "black")}
    captures = Captures.of({**groups, **nothing, "sheets": small_captures.sheets})
    return calibrate(captures, small_target, small_settings, field=FIELD)


def test_one_set_from_the_front_serves_both_sides(from_front, lens):
    assert from_front.front_kernels is None
    assert kernel_error(turned(from_front.kernels), lens.front_kernels) < 0.1
    assert from_front.verdict["mean_disparity_px"] < 0
    assert from_front.front == "derived from the back"
    notes = " ".join(from_front.verdict["notes"])
    assert "The target was in front of the focus plane: its kernels, turned by 180" in notes
    assert from_front.verdict["grade"] == "good"
    assert from_front.source["target_side"] == "in front of"


def test_one_set_from_the_front_given_as_behind_is_bad(
    front_set, small_captures, small_target, small_settings
):
    """Nothing tells it from exchanged views."""
    captures = Captures(*vars(front_set).values(), small_captures.sheets)
    verdict = calibrate(captures, small_target, small_settings, field=FIELD).verdict
    assert verdict["grade"] == "bad"
    text = "\n".join(verdict_lines(verdict))
    assert "The left and right views of all captures are exchanged, or the target was on" in text
    assert "turned by 180" not in text


def test_one_set_from_behind_given_as_front_is_bad(small_captures, small_target, small_settings):
    captures = replace(small_captures, side="in front of")
    verdict = calibrate(captures, small_target, small_settings, field=FIELD).verdict
    assert verdict["grade"] == "bad"
    bad = [check["name"] for check in verdict["checks"] if check["grade"] == "bad"]
    assert bad == ["wrong_side_px"]


def test_distances_know_that_a_set_was_in_front(from_front, found, small_run, tmp_path):
    """d = A + B / Z from one distance behind and one in front of the focus plane."""
    scale = relative_scale(from_front, small_run)
    assert scale == pytest.approx(-2.5 / 3, abs=0.05)
    assert relative_scale(from_front, from_front) == pytest.approx(-1)
    assert relative_scale(found.front_side(), found) == pytest.approx(found.front_scale)
    save_calibration(from_front, tmp_path / "front.dpcal")
    loaded = load_calibration(tmp_path / "front.dpcal")
    a, b = with_lens_constants(small_run, [(0.5, small_run), (0.1, loaded)]).lens_constants
    assert a > 0 > b
    assert a + b / 0.5 == pytest.approx(1)
    assert a + b / 0.1 == pytest.approx(scale)
    assert 0.1 < -b / a < 0.5  # the focus plane


# mixed up


def failing(captures, target, settings, message):
    with pytest.raises(CalibrationError, match=message):
        calibrate(captures, target, settings, field=FIELD)


def test_exchanged_sets(both, front_set, small_captures, small_target, small_settings):
    behind = TargetSet(small_captures.discs, small_captures.white, small_captures.black)
    captures = replace(both, **vars(front_set), front=behind)
    failing(captures, small_target, small_settings, "two sets of captures are exchanged")


def test_two_sets_of_one_side(both, small_captures, small_target, small_settings):
    behind = TargetSet(small_captures.discs, small_captures.white, small_captures.black)
    captures = replace(both, front=behind)
    failing(captures, small_target, small_settings, "Both sets .* target behind the focus plane")


def test_a_set_of_both_sides(both, front_set, small_target, small_settings):
    stray = front_set.discs[1]
    captures = replace(both, discs=[*both.discs, stray])
    failing(captures, small_target, small_settings, f"The capture {stray.name} of the discs was")


def test_a_front_set_without_white(both, front_set, small_target, small_settings):
    captures = replace(both, front=replace(front_set, white=[]))
    message = "No capture of the white screen in front of the focus plane was given"
    failing(captures, small_target, small_settings, message)


def test_a_front_set_of_another_size(both, front_set, small_target, small_settings):
    smaller = {
        name: [capture.cropped(0, 0, 160, 400) for capture in group]
        for name, group in vars(front_set).items()
    }
    captures = replace(both, front=TargetSet(**smaller))
    message = r"\(480 x 192 px, landscape\) behind .* \(400 x 160 px, landscape\) in front of it"
    failing(captures, small_target, small_settings, message)
