"""Measured depth as ground truth."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines import Prediction
from napari_dpdeblur.evaluation.depth_truth import (
    defocus_of_depth,
    depth_error_m,
    find_depth,
    load_depth_m,
)
from napari_dpdeblur.evaluation.scoring import Truth, score

DEPTH_M = np.tile(np.linspace(0.5, 3, 60, dtype=np.float32), (48, 1))


def test_defocus_is_linear_in_inverse_depth_and_signed_around_the_focus():
    truth = defocus_of_depth(DEPTH_M, 1.0)
    assert truth.sign == "signed"
    np.testing.assert_allclose(truth.defocus, 1 - 1 / DEPTH_M, rtol=1e-5)
    assert (truth.defocus < 0)[DEPTH_M < 1].all()


def test_without_a_focus_distance_there_is_no_sign():
    truth = defocus_of_depth(DEPTH_M, None)
    assert truth.sign == "one-sided"
    assert (np.diff(truth.defocus[0]) > 0).all(), "still increases from front to back"


def test_unknown_depth_has_no_confidence():
    depth = DEPTH_M.copy()
    depth[:5] = np.nan
    truth = defocus_of_depth(depth, 1.0)
    assert not truth.confidence[:5].any()
    assert truth.confidence[5:].all()
    assert np.isfinite(truth.defocus).all()


def test_a_focus_distance_that_cannot_be():
    with pytest.raises(EvaluationError, match="focus distance must be above 0, not -1 m; check"):
        defocus_of_depth(DEPTH_M, -1.0)


@pytest.mark.parametrize("suffix", ["png", "tif", "npy"])
def test_files(tmp_path: Path, suffix: str):
    path = tmp_path / f"depth.{suffix}"
    millimetres = np.round(1000 * DEPTH_M).astype(np.uint16)
    millimetres[0] = 0
    if suffix == "png":
        cv2.imwrite(str(path), millimetres)
    elif suffix == "tif":
        tifffile.imwrite(path, millimetres.astype(np.float32) / 1000)
    else:
        np.save(path, millimetres.astype(np.float32) / 1000)
    depth = load_depth_m(path)
    assert np.isnan(depth[0]).all()
    np.testing.assert_allclose(depth[1:], DEPTH_M[1:], atol=1e-3)


def test_depth_is_found_in_its_folder_and_beside_the_views(tmp_path: Path):
    assert find_depth(tmp_path, "001", None) is None
    view = tmp_path / "box" / "001" / "l.png"
    view.parent.mkdir(parents=True)
    (view.parent / "d.png").touch()
    assert find_depth(tmp_path, "box_001", view) == view.parent / "d.png"
    (tmp_path / "gt_depth").mkdir()
    (tmp_path / "gt_depth" / "box_001_gt.png").touch()
    assert find_depth(tmp_path, "box_001", view) == tmp_path / "gt_depth" / "box_001_gt.png"


def test_the_error_in_metres_does_not_depend_on_scale_and_offset():
    defocus = 3 * (1 - 1 / DEPTH_M) + 0.2
    assert depth_error_m(defocus, DEPTH_M) < 1e-5
    wrong = defocus.copy()
    wrong[:, 30:] = wrong[:, 30:31]
    assert depth_error_m(wrong, DEPTH_M) > 0.05


def test_depth_scores_a_map_with_its_sign_and_in_metres():
    truth = Truth("", defocus_of_depth(DEPTH_M, 1.0), DEPTH_M)
    found = score(Prediction(DEPTH_M[None], 1 - 1 / DEPTH_M), truth)
    assert found.problems == (), "these data have no sharp image"
    assert set(found.values) == {
        "aiwe1",
        "aiwe2",
        "one_minus_spearman",
        "right_sign",
        "depth_error_m",
    }
    assert found.values["right_sign"] == 1
    assert found.values["aiwe1"] == pytest.approx(0, abs=1e-4)
