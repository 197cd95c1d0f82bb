"""White sheets: merged, and bad ones named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.calibration.vignetting import merge_white_sheets
from napari_dpdeblur.datasets.synthetic.calibration_captures import Exposure, expose
from napari_dpdeblur.datasets.synthetic.lens import synthetic_vignetting
from napari_dpdeblur.errors import CalibrationError

SHAPE = (96, 128)


@pytest.fixture
def light():
    return synthetic_vignetting(*SHAPE)


def sheet(light, name, level=0.3, seed=0):
    return expose(light * level, Exposure(), np.random.default_rng(seed), name)


def sheets(light, count=6):
    return [sheet(light, f"sheet{i}", 0.3, i) for i in range(count)]


def test_the_ratio_of_both_views_is_recovered(light):
    merged = merge_white_sheets(sheets(light))
    assert merged.maps.shape == (2, *SHAPE)
    assert merged.left_out == {}
    inner = np.s_[10:-10, 10:-10]
    found = merged.maps[0][inner].mean(0) / merged.maps[1][inner].mean(0)
    true = light[0][inner].mean(0) / light[1][inner].mean(0)
    np.testing.assert_allclose(found, true, rtol=0.01)


def test_brightness_may_change_between_sheets(light):
    captures = [sheet(light, f"s{i}", level, i) for i, level in enumerate((0.2, 0.3, 0.5))]
    assert merge_white_sheets(captures).left_out == {}


def test_a_shaded_sheet_is_named_and_left_out(light):
    captures = sheets(light)
    shadow = light * np.linspace(0.7, 1.2, SHAPE[1], dtype=np.float32)
    captures[2] = sheet(shadow, "shaded", 0.3, 9)
    merged = merge_white_sheets(captures)
    assert list(merged.left_out) == ["shaded"]
    assert "the sheet moved or was shaded" in merged.left_out["shaded"]
    assert "shaded" not in merged.used
    assert len(merged.used) == 5


@pytest.mark.parametrize(
    ("level", "reason"), [(3.0, "is saturated in"), (0.005, "is too dark (brightest")]
)
def test_a_badly_exposed_sheet_is_named_and_left_out(level, reason, light):
    merged = merge_white_sheets([*sheets(light, 3), sheet(light, "bad", level)])
    assert list(merged.left_out) == ["bad"]
    assert reason in merged.left_out["bad"]


def test_no_usable_sheet(light):
    with pytest.raises(
        CalibrationError, match=r"No capture of the white sheet .* bad is saturated"
    ):
        merge_white_sheets([sheet(light, "bad", 3.0)])


def test_no_sheet_at_all():
    with pytest.raises(CalibrationError, match="No capture of a white sheet was given"):
        merge_white_sheets([])


def test_sheets_of_different_sizes(light):
    small = replace(sheet(light, "small"), raw=sheet(light, "x").raw[..., :40, :])
    with pytest.raises(CalibrationError, match=r"sheet0 and small have different sizes \(128 x 48"):
        merge_white_sheets([*sheets(light, 2), small])
