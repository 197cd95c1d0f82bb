"""Pictures of the report: colours of one-sided, signed and unsigned maps."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.evaluation.ground_truth import DefocusTruth, Sign
from napari_dpdeblur.evaluation.report.page import BAR_COLORS, _scale
from napari_dpdeblur.evaluation.report.pictures import MAP, MAP_ERROR, ScenePictures
from napari_dpdeblur.evaluation.scoring import Truth
from napari_dpdeblur.results.defocus_colors import diverging_palette

SIZE = (20, 41)
SIGNED_MAP = np.tile(np.linspace(-0.8, 0.4, SIZE[1], dtype=np.float32), (SIZE[0], 1))
CAPTURED = np.full((1, *SIZE), 0.5, np.float32)


def pictures_of(defocus: np.ndarray, sign: Sign) -> ScenePictures:
    confidence = np.ones_like(defocus)
    confidence[:3] = 0
    truth = DefocusTruth(defocus, confidence, sign)
    return ScenePictures(CAPTURED, Truth("no image", truth))


def test_signed_truth_has_its_focus_at_the_centre_of_diverging_colours() -> None:
    pictures = pictures_of(SIGNED_MAP, "signed")
    assert pictures.defocus_scale.is_diverging
    assert pictures.defocus_scale.limits == pytest.approx((-0.8, 0.8))
    neutral = diverging_palette()[len(diverging_palette()) // 2]
    column = int(np.abs(SIGNED_MAP[0]).argmin())
    truth = pictures.of_truth()[MAP]
    assert np.abs(truth[10, column].astype(int) - neutral).max() < 12
    drawn = pictures.of_method(Prediction(None, SIGNED_MAP), None)
    np.testing.assert_array_equal(drawn[MAP][3:], truth[3:])


def test_the_bar_of_the_page_has_the_colours_of_the_maps() -> None:
    bar = _scale(pictures_of(SIGNED_MAP, "signed").defocus_scale)
    colors = bar["colors"].split(",")
    assert bar["isSigned"]
    assert len(colors) == BAR_COLORS
    assert colors[BAR_COLORS // 2] == "#eeeeee"
    plain = _scale(pictures_of(SIGNED_MAP + 1, "one-sided").defocus_scale)
    assert not plain["isSigned"]
    assert plain["colors"].startswith("#440154,")


@pytest.mark.parametrize(("sign", "is_exact"), [("one-sided", False), ("unsigned", True)])
def test_only_unsigned_truth_is_met_by_absolute_values(sign: Sign, is_exact: bool) -> None:
    drawn = pictures_of(np.abs(SIGNED_MAP) + 0.01, sign).of_method(
        Prediction(None, SIGNED_MAP), None
    )
    darkest = drawn[MAP_ERROR][3:].max() < 30
    assert darkest == is_exact


def test_without_truth_a_signed_map_is_coloured_by_itself() -> None:
    pictures = ScenePictures(CAPTURED, Truth("no image", "no map"))
    drawn = pictures.of_method(Prediction(None, SIGNED_MAP), None)[MAP]
    assert drawn[0, 0, 0] > drawn[0, 0, 2]  # warm in front
    assert drawn[0, -1, 0] < drawn[0, -1, 2]  # blue behind
