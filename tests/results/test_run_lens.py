"""The lens of a run folder: stored, read back, checked; older folders have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration, load_calibration, save_calibration
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.lens_model import LensModel
from napari_dpdeblur.results import Result, check_run_folder, read_run, write_run
from napari_dpdeblur.results import run_folder as module
from napari_dpdeblur.results.run_folder import (
    DISTANCE_FILE,
    LENS_FILE,
    MAX_VIGNETTING_BYTES,
    RUN_FILES,
    read_lens,
    read_lens_model,
)
from napari_dpdeblur.results.tiff_files import read_image

MakeResult = Callable[..., Result]


@pytest.fixture
def lens() -> Calibration:
    return synthetic_calibration(20, 30, 1, 1)


@pytest.fixture
def run(tmp_path: Path, make_result: MakeResult, lens: Calibration) -> Path:
    return write_run(replace(make_result(), calibration=lens), tmp_path / "run")


def test_the_lens_comes_back_with_the_run(run, lens):
    assert {path.name for path in run.iterdir()} == {*RUN_FILES, LENS_FILE}
    back = read_run(run)
    assert back.calibration.content_hash() == lens.content_hash()
    assert back.provenance["lens"]["has_vignetting"]
    assert read_lens(run)[0].content_hash() == lens.content_hash()
    check_run_folder(run, overwrite=True)
    write_run(replace(back, calibration=None), run, overwrite=True)
    assert read_run(run).calibration is None
    assert "lens" not in read_run(run).provenance
    assert not (run / LENS_FILE).exists()


def test_a_run_without_a_lens_opens_as_before(tmp_path, make_result, lens):
    folder = write_run(make_result(), tmp_path / "run")
    assert read_run(folder).calibration is None
    assert read_lens(folder) == (None, None)
    save_calibration(lens, folder / LENS_FILE)  # put there by somebody
    assert read_run(folder).calibration is None
    assert read_lens(tmp_path) == (None, None)


def test_a_deleted_lens_is_no_error(run):
    (run / LENS_FILE).unlink()
    assert read_run(run).calibration is None


def test_a_damaged_or_foreign_lens_is_named(run, lens):
    content = (run / LENS_FILE).read_bytes()
    (run / LENS_FILE).write_bytes(content[:100])
    with pytest.raises(ResultError, match=r"cannot be read; delete lens\.dpcal to open the run"):
        read_run(run)
    save_calibration(synthetic_calibration(20, 30, 2, 2), run / LENS_FILE)
    with pytest.raises(ResultError, match=r"lens\.dpcal is not the lens of this run"):
        read_run(run)


def test_lens_constants_may_be_added_later(run):
    path = run / LENS_FILE
    save_calibration(replace(load_calibration(path), lens_constants=(1.0, -0.5)), path)
    assert read_run(run).lens_constants == (1.0, -0.5)


def test_a_large_vignetting_is_stored_only_for_an_estimated_lens(
    tmp_path, make_result, lens, monkeypatch
):
    assert MAX_VIGNETTING_BYTES < 2 * 1008 * 1344 * 4, "that of a phone is left out"
    monkeypatch.setattr(module, "MAX_VIGNETTING_BYTES", 1000)
    measured = write_run(replace(make_result(), calibration=lens), tmp_path / "measured")
    back = read_run(measured)
    assert back.calibration.vignetting is None
    assert not back.provenance["lens"]["has_vignetting"]
    np.testing.assert_array_equal(back.calibration.kernels, lens.kernels)
    estimated = replace(lens, source={"format": "estimate", "captures": ["scene"]})
    folder = write_run(replace(make_result(), calibration=estimated), tmp_path / "estimated")
    assert read_run(folder).calibration.content_hash() == lens.content_hash()


def test_distances_are_written_when_the_lens_is_known(tmp_path, make_result, lens):
    result = replace(make_result(), calibration=replace(lens, lens_constants=(2.0, -1.0)))
    folder = write_run(result, tmp_path / "run")
    written = read_image(folder / DISTANCE_FILE)[0]
    np.testing.assert_allclose(written, 1 / (2.0 - result.defocus_map), rtol=1e-5)


def test_a_link_to_another_folder_is_refused(run, tmp_path):
    (run / LENS_FILE).rename(tmp_path / "elsewhere.dpcal")
    (run / LENS_FILE).symlink_to(tmp_path / "elsewhere.dpcal")
    with pytest.raises(ResultError, match=r"lens\.dpcal was not read because"):
        read_run(run)


def test_damaged_entries_are_refused(run):
    text = (run / "run.yaml").read_text()
    (run / "run.yaml").write_text(text + "calibration: {lens_constants: [1.0]}\n")
    with pytest.raises(ResultError, match=r"entry calibration\.lens_constants is invalid"):
        read_run(run)


def test_how_the_fit_used_its_lens_comes_back(tmp_path, make_result, lens):
    model = LensModel(True, 5, 1e-4, True, 16, 0.1)
    result = make_result()
    result.provenance["lens_model"] = model.describe()
    folder = write_run(replace(result, calibration=lens), tmp_path / "run")
    assert read_run(folder).lens_model == model
    assert read_lens_model(folder) == model


def test_older_runs_do_not_say_how_they_used_their_lens(run, tmp_path):
    assert read_run(run).lens_model is None
    assert read_lens_model(run) is None
    assert read_lens_model(tmp_path) is None


def test_a_damaged_lens_model_is_refused(run):
    text = (run / "run.yaml").read_text()
    (run / "run.yaml").write_text(text + "lens_model: {sharpening_steps: -1}\n")
    with pytest.raises(ResultError, match=r"entry lens_model\.sharpening_steps is invalid"):
        read_run(run)
