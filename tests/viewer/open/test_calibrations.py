"""Calibrations near a capture, and whether they match."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.viewer.fit.inputs import FitInputs
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers
from napari_dpdeblur.viewer.open.calibrations import (
    ESTIMATED,
    calibration_label,
    fitness,
    match,
    nearby_calibrations,
    path_of_choice,
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_those_beside_the_capture_are_found(capture_files, calibration, cache):
    folder = capture_files[0].parent
    capture = open_capture(capture_files[0])
    assert nearby_calibrations(capture) == []
    (folder / "calibration").mkdir()
    paths = [folder / "calibration" / "a.dpcal", folder / "b.dpcal"]
    for path in paths:
        save_calibration(calibration, path)
    assert nearby_calibrations(capture) == paths
    assert [match(path, capture) for path in paths] == [1, 1]
    assert calibration_label(paths[0]) == "a.dpcal"


def test_the_published_one_is_found_beside_and_in_the_cache(pixel4_data, cache):
    capture = open_capture(pixel4_data / "pixel4" / "001_left.png")
    beside = pixel4_data / "pixel4" / "calibration"
    assert nearby_calibrations(capture) == [beside]
    (cache / "pixel4").mkdir(parents=True)
    shutil.copytree(beside, cache / "pixel4" / "calibration", copy_function=shutil.copyfile)
    assert nearby_calibrations(capture) == [beside, cache / "pixel4" / "calibration"]
    labels = [calibration_label(path) for path in nearby_calibrations(capture)]
    assert labels == ["Pixel 4, published (pixel4)", "Pixel 4, published (downloaded)"]
    assert fitness(beside, capture) == (True, "Matches this capture.")
    assert path_of_choice(beside / "blur_kernels_left.npy") == beside


def test_fitness_is_a_sentence(scene_capture, calibration, tmp_path):
    assert fitness(None, scene_capture) == (True, ESTIMATED)
    graded = dataclasses.replace(calibration, verdict={"grade": "good"})
    assert fitness(graded, scene_capture) == (True, "Matches this capture; verdict: good.")
    turned = dataclasses.replace(calibration, orientation="transposed")
    is_fit, text = fitness(turned, scene_capture)
    assert not is_fit
    assert text.startswith("Made for transposed captures, but this one is landscape:")
    is_fit, text = fitness(tmp_path, scene_capture)
    assert not is_fit
    assert text.endswith("is not a calibration folder: blur_kernels_left.npy is missing.")
    is_fit, text = fitness(tmp_path / "missing.dpcal", scene_capture)
    assert not is_fit


def test_the_buttons_of_the_fit_take_folders(
    viewer, qtbot, scene_capture, monkeypatch, pixel4_data
):
    from qtpy.QtWidgets import QFileDialog, QToolButton, QWidget

    put_layers(viewer, capture_layers(scene_capture))
    parent = QWidget()
    qtbot.addWidget(parent)
    inputs = FitInputs(viewer, parent)
    folder = pixel4_data / "pixel4" / "calibration"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    button = inputs.rows["Calibration"].findChild(QToolButton, "choose_calibration")
    button.menu().aboutToShow.emit()
    texts = {action.text(): action for action in button.menu().actions()}
    assert list(texts) == ["File…", "Folder…"]
    texts["Folder…"].trigger()
    assert inputs.calibration == folder
    assert inputs.fitness.text().startswith("Made for 2016 x 1512 px")
