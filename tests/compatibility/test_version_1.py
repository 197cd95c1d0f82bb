"""Files of the first version open for ever; those of a newer one are refused with a sentence.

The files were written by the first programs that wrote these formats, from the formulas in
`version_1_content.py`. Never write them again: a new version of a format gets a folder of its own.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import version_1_content as content
import yaml

import napari_dpdeblur as dpdeblur
from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.calibration.file_format import HEADER_NAME
from napari_dpdeblur.errors import CalibrationError, ResultError
from napari_dpdeblur.fitting import FitSettings

FILES = Path(__file__).parent / "version_1"
CALIBRATION_HASH = "66d2a158eadf649a97c2b264837de5ac7de89d092d966981433743ae10f66c94"
RUN, CALIBRATION, SETTINGS = FILES / "run", FILES / "calibration.dpcal", FILES / "settings.yaml"


def test_the_run_folder_opens():
    result = dpdeblur.load_result(RUN)
    for name, expected in content.run().items():
        if name == "provenance":
            assert result.provenance == expected
        else:
            np.testing.assert_array_equal(getattr(result, name), expected, err_msg=name)


def test_the_run_folder_is_the_same_after_it_was_written_again(tmp_path):
    again = dpdeblur.load_result(dpdeblur.load_result(RUN).save(tmp_path / "run"))
    np.testing.assert_array_equal(again.mpi_color, content.run()["mpi_color"])
    assert again.provenance == content.PROVENANCE


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_calibration_opens():
    calibration = dpdeblur.load_calibration(CALIBRATION)
    assert astuple(calibration.field) == (4, 4, 16, 24)
    for name, expected in content.calibration().items():
        np.testing.assert_array_equal(getattr(calibration, name), expected, err_msg=name)


def test_the_calibration_is_the_same_after_it_was_written_again(tmp_path):
    """Content and hash stay, so that old programs read it and provenance stays valid."""
    calibration = dpdeblur.load_calibration(CALIBRATION)
    save_calibration(calibration, tmp_path / "again.dpcal")
    assert members(tmp_path / "again.dpcal") == members(CALIBRATION)
    assert calibration.content_hash() == CALIBRATION_HASH
    assert calibration.front_kernels is None


def test_the_settings_open():
    with pytest.warns(FutureWarning) as warned:
        settings = FitSettings.read(SETTINGS)
    removed = ("seed", "image_rounds", "image_steps")
    assert {str(w.message) for w in warned} == {
        f"the setting {name} was removed and is ignored" for name in removed
    }
    written = yaml.safe_load(SETTINGS.read_text("utf-8"))
    for name in removed:
        del written[name]
    # Settings that came later.
    since = {"sides": "both", "swap_views": False, "memory_gb": None}
    assert settings.model_dump(exclude={"parameters"}) == {**written, **since}
    assert settings.parameters == FitSettings().parameters
    assert settings.preset == "paper"


def test_a_newer_run_folder_is_refused(tmp_path):
    folder = shutil.copytree(RUN, tmp_path / "run")
    text = (folder / "run.yaml").read_text("utf-8")
    (folder / "run.yaml").write_text(text.replace("format_version: 1", "format_version: 3"))
    with pytest.raises(ResultError) as caught:
        dpdeblur.load_result(folder)
    assert str(caught.value) == (
        f"{folder / 'run.yaml'} has format version 3, but only versions 1 and 2 are supported; "
        "update napari-dpdeblur."
    )


def test_a_newer_calibration_is_refused(tmp_path):
    path = tmp_path / "newer.dpcal"
    with zipfile.ZipFile(CALIBRATION) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == HEADER_NAME:
                data = json.dumps({**json.loads(data), "version": 3, "new_entry": 1}).encode()
            new.writestr(name, data)
    with pytest.raises(CalibrationError) as caught:
        dpdeblur.load_calibration(path)
    assert str(caught.value) == (
        f"{path} has format version 3, but only versions 1 and 2 are supported; update "
        "napari-dpdeblur."
    )
