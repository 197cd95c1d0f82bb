"""Captures with something wrong, rendered by code that shares nothing with the simulator."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from independent_scenes import Scene, kernel_error

from calibration_alarms import random_clean_scene
from napari_dpdeblur.calibration import Calibration, Field
from napari_dpdeblur.calibration.captures import Captures
from napari_dpdeblur.calibration.odd_shots import without_odd_shots
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.verdict import verdict_lines

TARGET = Target.for_screen(520, 420, 32.0)
SETTINGS = SolveSettings(rows=2, cols=3, kernel_px=31)
SCENE = Scene(TARGET.describe())
MAX_ERROR = 0.08


def calibrated(scene: Scene, shots: int) -> Calibration:
    shoot = scene.shoot(shots)
    captures = Captures(shoot["discs"], shoot["white"], shoot["black"])
    return calibrate(captures, TARGET, SETTINGS)


@cache
def flawless(shots: int) -> Calibration:
    return calibrated(SCENE, shots)


def text_of(calibration: Calibration) -> str:
    return "\n".join(verdict_lines(calibration.verdict))


def bad_checks(calibration: Calibration) -> list[str]:
    return [c["name"] for c in calibration.verdict["checks"] if c["grade"] == "bad"]


def motion_of(calibration: Calibration) -> float:
    checks = calibration.verdict["checks"]
    return next(float(check["value"]) for check in checks if check["name"] == "motion_px")


@pytest.mark.parametrize(("shots", "limit"), [(1, 0.055), (6, 0.035)])
def test_flawless_captures_give_the_true_kernels(shots: int, limit: float) -> None:
    found = flawless(shots)
    assert found.verdict["grade"] == "good"
    assert kernel_error(found.kernels, SCENE.kernels()) < limit
    assert not [note for note in found.verdict["notes"] if "this was corrected" in note]


@pytest.mark.parametrize("shots", [1, 6])
@pytest.mark.parametrize(
    ("trouble", "cause"),
    [
        ({"white_gain": 1.05}, "The white screen was 4.8 % brighter than the white of the discs"),
        ({"ambient": 0.02}, "% of white more ambient light than the black and the white screen"),
        ({"glare": 0.05}, "% of the light is spread over the whole image, as by glare in the lens"),
    ],
    ids=["white", "ambient", "glare"],
)
def test_levels_that_differ_are_named_and_corrected(
    trouble: dict[str, float], cause: str, shots: int
) -> None:
    found = calibrated(SCENE.with_trouble(**trouble), shots)
    assert kernel_error(found.kernels, SCENE.kernels()) <= MAX_ERROR
    reference = kernel_error(flawless(shots).kernels, SCENE.kernels())
    assert kernel_error(found.kernels, SCENE.kernels()) < reference + 0.005
    assert cause in text_of(found)
    assert "kernel size is too small" not in text_of(found)
    assert bad_checks(found) == []


def test_a_darker_white_screen_is_named_and_corrected() -> None:
    found = calibrated(SCENE.with_trouble(white_gain=0.97), 1)
    assert "% darker than the white of the discs; this was corrected." in text_of(found)
    assert kernel_error(found.kernels, SCENE.kernels()) < 0.055


def test_levels_that_differ_too_much_are_bad() -> None:
    found = calibrated(SCENE.with_trouble(ambient=0.1), 1)
    assert bad_checks(found)
    assert "ambient light than the black and the white screen; this is too much" in text_of(found)


@pytest.mark.parametrize("shots", [1, 6])
def test_exchanged_views_are_bad(shots: int) -> None:
    found = calibrated(SCENE.with_trouble(exchanged=True), shots)
    assert bad_checks(found) == ["wrong_side_px"]
    assert "The left and right views of all captures are exchanged, or" in text_of(found)


@pytest.mark.parametrize("shots", [1, 6])
def test_displaced_views_are_bad(shots: int) -> None:
    found = calibrated(SCENE.with_trouble(displaced_px=(3.0, 2.0)), shots)
    assert "vertical_disparity_px" in bad_checks(found)
    assert "The right view is displaced against the left one" in text_of(found)
    check = next(c for c in found.verdict["checks"] if c["name"] == "vertical_disparity_px")
    assert check["value"] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("trouble", "cause"),
    [
        ({"odd_exposure": 1.7}, "discs1 is 70 % brighter (exposure or ambient light) than the"),
        ({"odd_blur": 1.4}, "discs1 is blurred more (focus, or motion of the camera) than the"),
        ({"odd_blur": 0.7}, "discs1 is blurred less (focus) than the other captures of the discs"),
        ({"odd_motion_px": (2.2, 0.0)}, "discs1 is blurred more (focus, or motion of the camera)"),
        ({"odd_motion_px": (0.0, 2.2)}, "discs1 is blurred more (focus, or motion of the camera)"),
        ({"odd_motion_px": (-2.0, 2.0)}, "discs1 is blurred more (focus, or motion of the camera)"),
    ],
)
def test_one_odd_shot_among_six_is_named(trouble: dict[str, object], cause: str) -> None:
    discs = SCENE.with_trouble(**trouble).shoot(6)["discs"]
    kept, notes = without_odd_shots(discs)
    assert [capture.name for capture in kept] == [f"discs{n}" for n in (0, 2, 3, 4, 5)]
    assert len(notes) == 1
    assert cause in notes[0]
    assert notes[0].endswith("it was left out.")
    assert without_odd_shots(discs[:2]) == (discs[:2], []), "nobody knows which one is odd"


@pytest.mark.parametrize("motion_px", [(2.3, 0.0), (0.0, 2.3), (1.7, 1.7), (-1.7, 1.7)])
def test_motion_in_a_single_shot_is_named(motion_px: tuple[float, float]) -> None:
    found = calibrated(SCENE.with_trouble(motion_px=motion_px), 1)
    assert "moved during the exposure of the discs" in text_of(found)
    assert "use a tripod and a self-timer, or a shorter exposure" in text_of(found)
    assert motion_of(found) == pytest.approx(np.hypot(*motion_px), abs=0.25)
    assert found.verdict["grade"] == "acceptable"
    assert motion_of(flawless(1)) < 1.2


@pytest.mark.parametrize("motion_px", [(0.0, 0.0), (0.0, 2.3), (-1.7, 1.7)])
def test_motion_is_named_although_rows_were_interpolated(motion_px: tuple[float, float]) -> None:
    """Unless it runs along y, as the interpolation does."""
    scene = replace(SCENE, row_height=2).with_trouble(motion_px=motion_px)
    found = calibrated(scene, 1)
    is_named = "moved during the exposure of the discs" in text_of(found)
    assert is_named == any(motion_px)
    assert is_named or kernel_error(found.kernels, scene.seen_kernels()) < MAX_ERROR


def test_a_long_motion_is_bad() -> None:
    found = calibrated(SCENE.with_trouble(motion_px=(4.0, 0.0)), 1)
    assert bad_checks(found) == ["motion_px"]


def test_motion_is_not_checked_off_the_axis() -> None:
    """There a lens itself is softer along one direction."""
    shoot = SCENE.with_trouble(motion_px=(4.0, 0.0)).shoot()
    captures = Captures(shoot["discs"], shoot["white"], shoot["black"])
    found = calibrate(captures, TARGET, SETTINGS, field=Field(64, 200, 256, 256))
    assert motion_of(found) == 0
    assert "motion blur cannot be told from the lens and was not checked" in text_of(found)


def test_an_overexposed_shot_is_left_out_of_the_kernels() -> None:
    found = calibrated(SCENE.with_trouble(odd_exposure=1.7), 6)
    assert "discs1 is 70 % brighter" in text_of(found)
    assert kernel_error(found.kernels, SCENE.kernels()) < 0.035


def test_shots_that_all_differ_are_all_kept() -> None:
    discs = SCENE.with_trouble(drift=0.5).shoot(6)["discs"]
    assert without_odd_shots(discs) == (discs, [])


def test_a_true_front_target_is_graded_good() -> None:
    scene = Scene(TARGET.describe(), behind=False)
    shoot = scene.shoot()
    captures = Captures(shoot["discs"], shoot["white"], shoot["black"], side="in front of")
    found = calibrate(captures, TARGET, SETTINGS)
    assert found.verdict["grade"] == "good"
    assert kernel_error(found.kernels[..., ::-1, ::-1], scene.kernels()) < 0.055


@pytest.mark.parametrize("seed", range(3))
def test_clean_captures_raise_no_alarm(seed: int) -> None:
    """Fifty of them are tried by benchmarks/calibration_alarms.py."""
    scene, shots = random_clean_scene(TARGET, np.random.default_rng(seed))
    found = calibrated(scene, shots)
    assert bad_checks(found) == []
    assert "left out" not in text_of(found)
    assert "moved" not in text_of(found)
