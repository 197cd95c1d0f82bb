"""Results of other programs."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmark_data import calibration, scene_of

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.scene import render_capture
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.external import ExternalResults


@pytest.fixture(scope="module")
def captured() -> tuple[DualPixelCapture, Calibration]:
    lens = calibration()
    grid = lens.kernel_grid()
    return render_capture(scene_of(1), grid, lens.vignetting, noise=None, name="001"), lens


def test_external_results_are_found_by_the_name_of_the_scene(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    image = np.arange(96 * 128, dtype=np.uint16).reshape(96, 128)
    cv2.imwrite(str(tmp_path / "001_network.png"), np.dstack([image, image, image]))
    cv2.imwrite(str(tmp_path / "0011.png"), image)
    results = ExternalResults(images=tmp_path)
    prediction = results(*captured)
    np.testing.assert_allclose(prediction.all_in_focus[0], image / 65535, atol=1e-7)
    assert prediction.defocus_map is None
    before = results.signature("001")
    cv2.imwrite(str(tmp_path / "001_network.png"), image[::-1])
    assert results.signature("001") != before


def test_a_folder_without_the_scene(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    with pytest.raises(EvaluationError, match=r"contains no image of scene 001; expected one"):
        ExternalResults(maps=tmp_path)(*captured)
    for name in ("001.png", "001_b.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((4, 4), np.uint8))
    with pytest.raises(EvaluationError, match="contains 2 images of scene 001"):
        ExternalResults(maps=tmp_path)(*captured)
    with pytest.raises(EvaluationError, match=r"results folder .* does not exist"):
        ExternalResults(maps=tmp_path / "nowhere")(*captured)


def test_a_coloured_map_is_refused(
    tmp_path: Path, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    colours = np.random.default_rng(0).integers(0, 255, (96, 128, 3), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / "001.png"), colours)
    with pytest.raises(EvaluationError, match=r"The predicted defocus map .* is a colour image"):
        ExternalResults(maps=tmp_path)(*captured)
