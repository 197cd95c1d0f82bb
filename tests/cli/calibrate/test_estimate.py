"""`calibrate estimate` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.calibration.estimate.settings import Profile
from napari_dpdeblur.cli import main
from napari_dpdeblur.cli.calibrate.estimate import PROFILES

GRADES = ("good", "acceptable", "bad")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated capture that is large enough to estimate a lens from."""
    folder = tmp_path_factory.mktemp("estimate") / "scene"
    assert main(["simulate", "-o", str(folder), "--size", "384x288"]) == 0
    return folder


def test_profiles_are_those_of_the_settings():
    assert get_args(Profile) == PROFILES


def test_an_estimate_is_a_calibration_with_a_verdict(scene, tmp_path, capsys):
    output, picture = tmp_path / "lens.dpcal", tmp_path / "lens.png"
    words = ["calibrate", "estimate", str(scene), "-o", str(output), "--picture", str(picture)]
    words += ["--camera", "My phone", "--grid", "4x3", "--profile", "neutral"]
    words += ["--focal-length-mm", "4.4", "--f-number", "1.7"]
    capsys.readouterr()
    assert main(words) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == str(output)
    assert printed[1].removeprefix("verdict: ") in GRADES
    lens = load_calibration(output)
    assert lens.is_estimated
    assert (lens.rows, lens.cols, lens.camera) == (3, 4, "My phone")
    assert lens.frame_shape == (288, 384)
    assert lens.source["captures"] == ["synthetic"]
    assert cv2.imread(str(picture)).std() > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lens.dpcal", "lens.png"]
    assert main([*words, "--overwrite", "--refine", str(output), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"]["grade"] in GRADES


def test_two_files_with_names_of_their_own_are_a_pair(scene, tmp_path, capsys):
    from napari_dpdeblur.capture import open_capture

    for name, view in zip(("morning", "evening"), open_capture(scene).views, strict=True):
        values = np.round(255 * np.clip(view[0], 0, 1)).astype(np.uint8)
        cv2.imwrite(str(tmp_path / f"{name}.png"), values)
    files = [str(tmp_path / f"{name}.png") for name in ("morning", "evening")]
    output = tmp_path / "lens.dpcal"
    assert main(["calibrate", "estimate", *files, "-o", str(output), "--encoding", "linear"]) == 0
    assert load_calibration(output).frame_shape == (144, 384)


def test_captures_of_different_sizes(scene, simulated, tmp_path, failure):
    output = tmp_path / "lens.dpcal"
    said = failure("calibrate", "estimate", scene, simulated, "-o", output)
    assert "(384 x 288 px, landscape) and synthetic (128 x 96 px, landscape) differ in" in said
    assert not list(tmp_path.iterdir())


def test_bad_input(scene, simulated, tmp_path, failure):
    output = tmp_path / "lens.dpcal"
    estimate = ("calibrate", "estimate")
    assert "nowhere does not exist" in failure(*estimate, tmp_path / "nowhere", "-o", output)
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    (lonely / "scene_left.pgm").write_bytes((simulated / "synthetic_left.pgm").read_bytes())
    assert "scene_left.pgm has no partner" in failure(
        *estimate, lonely / "scene_left.pgm", "-o", output
    )
    assert "nowhere.dpcal does not exist" in failure(
        *estimate, scene, "-o", output, "--refine", tmp_path / "nowhere.dpcal"
    )
    assert "cols = 65 cannot be used" in failure(*estimate, scene, "-o", output, "--grid", "65x3")
    assert not output.exists()
    output.write_text("precious")
    assert "lens.dpcal already exists and is not overwritten" in failure(
        *estimate, scene, "-o", output
    )
    assert output.read_text() == "precious"
    assert "cannot be written: it is a folder" in failure(
        *estimate, scene, "-o", lonely, "--overwrite"
    )
