"""The estimated time: learnt from finished fits, and of what is fitted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from napari_dpdeblur.calibration import Field, save_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.viewer.fit.estimate import (
    USUAL_START_S,
    estimate_text,
    expected_s,
    learn_time,
)
from napari_dpdeblur.viewer.shared import remembered

STANDARD = FitSettings()


def test_without_experience_the_formula_and_the_start_count():
    assert expected_s(30.0, STANDARD) == pytest.approx(USUAL_START_S + 30.0)


def test_one_small_fit_does_not_spoil_the_estimate_of_a_large_one():
    """On the old code one factor stretched both: 38 s instead of 4 made 2 min of 13 s."""
    learn_time(0.65, 38.0, STANDARD)
    assert expected_s(0.65, STANDARD) == pytest.approx(38.0, rel=0.15)
    assert expected_s(20.0, STANDARD) < 80.0


def test_small_and_large_fits_are_both_predicted():
    for plain_s in (0.5, 4.0, 60.0):
        learn_time(plain_s, 12.0 + 0.7 * plain_s, STANDARD)
    for plain_s in (1.0, 20.0, 100.0):
        assert expected_s(plain_s, STANDARD) == pytest.approx(12.0 + 0.7 * plain_s, rel=0.1)
    other = FitSettings(preset="preview")
    assert expected_s(20.0, other) == pytest.approx(USUAL_START_S + 20.0)


def test_damaged_memory_is_passed_over():
    remembered.remember("fit times", {"standard on auto": [3, [1, "x"], [0, 5], [2.0, -1]]})
    assert expected_s(10.0, STANDARD) == pytest.approx(USUAL_START_S + 10.0)


def test_only_what_is_fitted_counts(scene_capture, calibration, tmp_path):
    """Also for a calibration that is a file, of which the old code did not know the field."""
    inner = replace(calibration, field=Field(8, 16, 80, 100), vignetting=None)
    save_calibration(inner, tmp_path / "lens.dpcal")
    texts = []
    for chosen in (inner, tmp_path / "lens.dpcal"):
        text, _ = estimate_text(scene_capture, chosen, STANDARD, None)
        assert text.startswith("100 x 80 px, the calibrated field: about")
        texts.append(text.split("GB of memory")[0])
    assert texts[0] == texts[1]
    text, _ = estimate_text(scene_capture, calibration, STANDARD, None)
    assert text.startswith("128 x 96 px: about")
    text, _ = estimate_text(scene_capture, inner, STANDARD, (10, 20, 40, 50))
    assert text.startswith("50 x 40 px: about")


def test_the_field_of_the_published_folder_is_known(pixel4_data):
    """On the old code the whole frame was counted until the folder had been read."""
    capture = open_capture(pixel4_data / "pixel4" / "005_left.png")
    text, _ = estimate_text(capture, pixel4_data / "pixel4" / "calibration", STANDARD, None)
    assert text.startswith("1344 x 1008 px, the calibrated field: about")
