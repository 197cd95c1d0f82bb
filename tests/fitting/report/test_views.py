"""What the views of a capture show before a fit, and the doubts that follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import CameraOptics, DualPixelCapture, open_capture
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.fitting.report.doubts import (
    calibration_doubts,
    view_doubts,
    with_search,
)
from napari_dpdeblur.fitting.report.views import ViewCheck, check_views

SETTINGS = FitSettings(preset="preview", device="cpu", threads=1)
PARAMETERS = SETTINGS.parameters.views


@pytest.fixture(scope="module")
def scene() -> Simulation:
    return simulate(128, 160)


def _checked(
    capture: DualPixelCapture, lens: Calibration, crop: tuple[int, int, int, int] | None = None
) -> ViewCheck:
    problem = pose_problem(capture, lens, SETTINGS, torch.device("cpu"), crop)
    return check_views(problem, capture, lens, crop, PARAMETERS)


def _noise(capture: DualPixelCapture) -> np.ndarray:
    random = np.random.default_rng(1)
    return random.normal(capture.white / 2, capture.white / 50, capture.raw.shape)


def _other(capture: DualPixelCapture) -> np.ndarray:
    return np.stack([capture.raw[0], capture.raw[1][..., ::-1, ::-1]])


def _lower(capture: DualPixelCapture) -> np.ndarray:
    return np.stack([capture.raw[0], np.roll(capture.raw[1], 3, axis=-2)])  # 6 square pixels


def _brighter(capture: DualPixelCapture) -> np.ndarray:
    left, right = capture.raw.astype(float)
    return np.stack([left, np.minimum(1.5 * (right - capture.black) + capture.black, 65535)])


WRONG: dict[str, tuple[Callable[[DualPixelCapture], np.ndarray], str]] = {
    "noise": (_noise, "hardly anything but noise: use a brighter exposure"),
    "identical": (lambda c: c.raw[[0, 0]], "unless the whole scene is in focus, one file is a"),
    "other scene": (_other, "do not show the same scene: check that both files"),
    "vertical offset": (_lower, r"right view lies [56]\.\d px lower than the left one"),
    "brightness": (_brighter, r"right view is 1\.\d\d times as bright as the calibrated vign"),
    "swapped": (lambda c: c.raw[::-1], "seem to be swapped: fit again with swap_views"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named(scene: Simulation, kind: str) -> None:
    change, sentence = WRONG[kind]
    wrong = replace(scene.capture, raw=change(scene.capture).astype(np.uint16))
    doubts = view_doubts(_checked(wrong, scene.calibration), PARAMETERS)
    assert [doubt.kind for doubt in doubts] == [kind]
    assert re.search(sentence, doubts[0].text)


@pytest.mark.parametrize("crop", [None, (16, 16, 96, 112)])
def test_right_views_raise_no_doubt(scene: Simulation, crop: Any) -> None:
    found = _checked(scene.capture, scene.calibration, crop)
    assert view_doubts(found, PARAMETERS) == []
    assert found.correlation > 0.9
    assert found.brightness == pytest.approx(1, abs=0.05)
    assert found.describe()["vertical_offset_px"] == 0


def test_without_vignetting_the_views_may_differ_more(scene: Simulation) -> None:
    lens = replace(scene.calibration, vignetting=None)
    assert view_doubts(_checked(scene.capture, lens), PARAMETERS) == []
    wrong = replace(scene.capture, raw=_brighter(scene.capture).astype(np.uint16))
    (doubt,) = view_doubts(_checked(wrong, lens), PARAMETERS)
    assert "times as bright as the other one" in doubt.text


def test_views_too_small_for_blocks_are_not_judged(scene: Simulation) -> None:
    found = _checked(scene.capture, scene.calibration, (0, 0, 48, 48))
    assert (found.correlation, found.vertical_px) == (1.0, 0.0)


def test_a_scene_in_front_is_not_taken_for_swapped_views(scene: Simulation) -> None:
    """The vignetting tells them apart; without it, the views are doubtful."""
    found = _checked(scene.capture, scene.calibration)
    assert with_search([], found, looks_swapped=False) == []
    assert with_search([], found, looks_swapped=True) == []
    unknown = replace(found, has_vignetting=False)
    (doubt,) = with_search([], unknown, looks_swapped=True)
    assert doubt.kind == "swapped"


def test_doubts_about_a_calibration(scene: Simulation) -> None:
    lens, capture = scene.calibration, scene.capture
    assert calibration_doubts(lens, capture) == []
    check = {"name": "n", "value": 9.0, "grade": "bad", "meaning": "", "remedy": "Use a tripod."}
    bad = replace(lens, verdict={"grade": "bad", "checks": [check]})
    (doubt,) = calibration_doubts(bad, capture)
    assert doubt.text == (
        "The calibration is graded bad (Use a tripod): calibrate again, or use another calibration."
    )
    near = replace(capture, optics=CameraOptics(focus_distance_m=0.5))
    (doubt,) = calibration_doubts(replace(lens, focus_distance_m=1.5), near)
    assert "a focus distance of 1.5 m, but the capture at 0.5 m: use a calibration" in doubt.text
    assert calibration_doubts(replace(lens, focus_distance_m=0.6), near) == []


def test_a_doubtful_fit_says_so_at_once_and_at_the_end(scene: Simulation, capfd: Any) -> None:
    wrong = replace(scene.capture, raw=_noise(scene.capture).astype(np.uint16))
    events: list[Any] = []
    result = fit(wrong, scene.calibration, SETTINGS, progress=events.append)
    text = WRONG["noise"][1]
    assert re.search(text, events[0].doubts[0])
    assert not any(event.doubts for event in events[1:])
    assert result.fit_verdict["doubts"] == ["noise"]
    assert re.search(f"^The fit is doubtful.*{text}", result.verdict_text)
    assert result.confidence.mean() < 0.05
    fit(wrong, scene.calibration, SETTINGS)
    assert re.search(f"Warning: .*{text}", capfd.readouterr().err)


def test_a_doubt_explains_the_residual(scene: Simulation) -> None:
    wrong = replace(scene.capture, raw=_lower(scene.capture).astype(np.uint16))
    short = SETTINGS.changed(preset="standard")
    verdict = fit(wrong, scene.calibration, short, progress=False).fit_verdict
    assert verdict["verdict"] == "doubtful"
    assert len(verdict["causes"]) == 1
    assert "px lower" in verdict["causes"][0]
    assert verdict["residual_over_noise"] > 0


def test_swapped_views_can_be_swapped_in_the_window(scene: Simulation) -> None:
    wrong = replace(scene.capture, raw=scene.capture.raw[::-1])
    result = fit(wrong, scene.calibration, SETTINGS, progress=False)
    assert result.views_look_swapped
    assert result.fit_verdict["doubts"] == ["swapped"]
    back = fit(wrong, scene.calibration, SETTINGS.changed(swap_views=True), progress=False)
    assert not back.views_look_swapped
    assert back.fit_verdict == {}


def test_published_scenes_raise_no_doubt_until_their_views_are_mixed(pixel4_data: Path) -> None:
    folder = pixel4_data / "pixel4"
    lens = load_calibration(folder / "calibration")
    names = sorted(path.name[:3] for path in folder.glob("???_left.png"))
    captures = [open_capture(folder / f"{name}_left.png") for name in names]
    for capture, other in zip(captures, [*captures[1:], captures[0]], strict=True):
        assert view_doubts(_checked(capture, lens), PARAMETERS) == []
        mixed = replace(capture, raw=np.stack([capture.raw[0], other.raw[1]]))
        swapped = replace(capture, raw=capture.raw[::-1])
        for wrong, kind in ((mixed, "other scene"), (swapped, "swapped")):
            doubts = view_doubts(_checked(wrong, lens), PARAMETERS)
            assert [doubt.kind for doubt in doubts] == [kind]
