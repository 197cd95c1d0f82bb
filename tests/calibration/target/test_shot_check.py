"""Quick checks of captures for a calibration."""

from __future__ import annotations

import dataclasses

import pytest

from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.target.shot_check import check_shots
from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.datasets.synthetic.simulation import simulate, synthetic_calibration

GROUPS = ("discs", "white", "black", "sheets", "front_discs", "front_white", "front_black")


@pytest.fixture(scope="module")
def shoot(tmp_path_factory):
    """Folders of captures by the names of the groups, of both sides."""
    folder = tmp_path_factory.mktemp("shoot")
    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    lens = dataclasses.replace(synthetic_calibration(384, 480, rows=2, cols=3), kernels=kernels)
    target, pose = Target.for_screen(520, 420, 32.0), Pose(rotation_deg=3.0)
    front = simulate_shoot(target, lens, pose, scale=-1.0, burst=1, sheets=0)
    write_shoot(simulate_shoot(target, lens, pose, burst=1, sheets=2), target, folder, front)
    return {name: [folder / name] for name in GROUPS}


def bad(checks):
    return {name: check.text for name, check in checks.items() if not check.is_good}


def test_good_captures_are_counted(shoot):
    checks = check_shots(shoot)
    assert bad(checks) == {}
    assert checks["discs"].text == "1 capture, 480 x 192 px"
    assert checks["sheets"].text == "2 captures, 480 x 192 px"
    assert check_shots({"discs": []}) == {}


def test_exchanged_kinds_are_told(shoot):
    exchanged = {**shoot, "discs": shoot["white"], "sheets": shoot["discs"]}
    assert bad(check_shots(exchanged)) == {
        "discs": "show no discs: is this another screen?",
        "sheets": "not plain: are these the discs?",
    }
    dark = {**shoot, "front_white": shoot["black"], "front_black": shoot["white"]}
    text = "black is nearly as bright as white: exchanged?"
    assert bad(check_shots(dark)) == {"front_white": text, "front_black": text}


def test_other_sizes_and_missing_files_are_told(shoot, tmp_path):
    simulation = simulate(96, 128)
    write_synthetic(tmp_path, simulation.scene, simulation.capture)
    assert bad(check_shots({**shoot, "black": [tmp_path]})) == {
        "black": "128 x 48 px, but the discs have 480 x 192"
    }
    mixed = check_shots({"white": [*shoot["white"], tmp_path]})["white"].text
    assert mixed.endswith("; use one camera and one setting.")
    assert "has 128 x 48 px, but" in mixed
    assert "does not exist" in check_shots({"discs": [tmp_path / "nothing"]})["discs"].text
