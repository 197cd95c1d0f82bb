"""Lens estimates that are kept: same input, other input, interruption, mixed captures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.calibration.estimate.geometry import lens_geometry
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.calibration.kept_estimate import (
    INPUTS,
    check_kept,
    check_same_camera,
    checkpoint_of,
    estimate_signature,
    forget_lens,
    lens_events,
)
from napari_dpdeblur.capture import CameraOptics, DualPixelCapture
from napari_dpdeblur.datasets.synthetic.simulation import simulate, synthetic_calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.fitting.notes import optics_problem
from napari_dpdeblur.generators import finish


@pytest.fixture(scope="module")
def capture() -> DualPixelCapture:
    return simulate(288, 384).capture


def test_a_finished_lens_is_not_estimated_again(capture, tmp_path):
    kept = tmp_path / "new" / "run.lens.dpcal"
    events = []
    first = finish(lens_events([capture], kept=kept), events.append)
    assert events
    assert first.is_estimated
    assert first.source[INPUTS] == estimate_signature([capture])
    assert first.frame_shape == (288, 384)
    again = []
    second = finish(lens_events([capture], kept=kept), again.append)
    assert not again, "it was read"
    assert second.content_hash() == first.content_hash()
    forget_lens(kept)
    assert not kept.exists()
    assert not checkpoint_of(kept).exists()
    forget_lens(kept)  # nothing to forget is no error


def test_without_resume_or_with_other_input_it_is_estimated(capture, tmp_path):
    kept = tmp_path / "run.lens.dpcal"
    settings = EstimateSettings(rows=2, cols=2, steps=1)
    finish(lens_events([capture], settings, kept=kept))
    other = EstimateSettings(rows=2, cols=3, steps=1)
    events = []
    lens = finish(lens_events([capture], other, kept=kept), events.append)
    assert events
    assert (lens.rows, lens.cols) == (2, 3)
    events = []
    finish(lens_events([capture], other, kept=kept, resume=False), events.append)
    assert events


def test_a_damaged_lens_is_estimated_again(capture, tmp_path):
    kept = tmp_path / "run.lens.dpcal"
    kept.write_bytes(b"not a lens")
    lens = finish(lens_events([capture], EstimateSettings(rows=1, cols=1, steps=1), kept=kept))
    assert lens.is_estimated


def test_a_file_in_the_way_is_no_kept_lens(tmp_path):
    """A calibration of the user that has this name must not be lost."""
    kept = tmp_path / "run.lens.dpcal"
    check_kept(kept)
    lens = synthetic_calibration(48, 64, 1, 1)
    save_calibration(lens, kept)
    with pytest.raises(CalibrationError, match=r"run\.lens\.dpcal is in the way: the lens that is"):
        check_kept(kept)
    save_calibration(replace(lens, source={INPUTS: "ab"}), kept)
    check_kept(kept)
    (tmp_path / "link.lens.dpcal").symlink_to(kept)
    with pytest.raises(CalibrationError, match="move the file, or give it as the calibration"):
        check_kept(tmp_path / "link.lens.dpcal")


@pytest.mark.parametrize(("f_number", "is_used"), [(2.0, True), (0.1, False), (9999.0, False)])
def test_optics_whose_blur_cannot_be_are_not_used(capture, f_number, is_used):
    """EXIF data may ask for kernels that fill the memory."""
    optics = CameraOptics(50.0, f_number, 1.0, 1e3 * 36 / 384)
    seen = replace(capture, optics=optics)
    geometry = lens_geometry(seen, 3.0, EstimateSettings())
    assert geometry.has_optics == is_used
    assert (optics_problem(seen) is None) == is_used


def test_without_a_folder_it_is_estimated_all_the_same(capture, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    settings = EstimateSettings(rows=1, cols=1, steps=1)
    lens = finish(lens_events([capture], settings, kept=tmp_path / "file" / "run.lens.dpcal"))
    assert lens.is_estimated


def test_the_signature_follows_everything_that_matters(capture):
    base = estimate_signature([capture])
    assert estimate_signature([capture]) == base
    assert estimate_signature([capture], EstimateSettings()) != estimate_signature(
        [capture], EstimateSettings(steps=3)
    )
    changed = (
        replace(capture, black=capture.black + 1),
        capture.with_swapped_views(),
        capture.with_optics(focal_length_mm=50),
    )
    assert len({base, *(estimate_signature([other]) for other in changed)}) == 4
    assert estimate_signature([capture, capture]) != base


def test_captures_of_different_sizes_or_cameras(capture):
    check_same_camera([capture, replace(capture, name="other")])
    with pytest.raises(CalibrationError, match="No capture was given"):
        check_same_camera([])
    smaller = replace(capture.cropped(0, 0, 64, 128), name="smaller")
    with pytest.raises(CalibrationError, match=r"and smaller \(128 x 128 px.*differ in size"):
        check_same_camera([capture, smaller])
    turned = capture.with_orientation("transposed")
    with pytest.raises(CalibrationError, match="differ in size or orientation"):
        check_same_camera([capture, turned])
    canon = replace(capture, optics=CameraOptics(camera="Canon R6"))
    pixel = replace(capture, name="phone", optics=CameraOptics(camera="Pixel 4"))
    check_same_camera([capture, canon])  # one of them does not say it
    with pytest.raises(CalibrationError, match=r"phone \(Pixel 4\) were made with different"):
        check_same_camera([canon, pixel])
