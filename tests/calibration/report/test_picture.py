"""Pictures of a calibration."""

from __future__ import annotations

import pytest

from napari_dpdeblur.calibration.report.picture import (
    calibration_picture,
    write_calibration_picture,
)
from napari_dpdeblur.errors import CalibrationError


def test_the_picture_of_a_calibration_without_diagnostics(small_lens, small_run, tmp_path):
    write_calibration_picture(small_lens, tmp_path / "lens.png")
    assert (tmp_path / "lens.png").stat().st_size > 1000
    assert len(calibration_picture(small_lens)) < len(calibration_picture(small_run))


def test_a_picture_that_cannot_be_written(small_lens, tmp_path):
    with pytest.raises(CalibrationError, match="cannot be written"):
        write_calibration_picture(small_lens, tmp_path / "no" / "folder.png")
