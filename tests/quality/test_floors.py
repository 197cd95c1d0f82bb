"""Results do not get worse: scores of small scenes against those stored in floors.json.

The PSNR may fall by 0.05 dB, every other error grow by 2 %. After a change that is meant to alter
results: `python tests/quality/update.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from floor_scenes import (
    FLOORS_FILE,
    REAL_CASES,
    SYNTHETIC,
    SYNTHETIC_CASES,
    real_scene,
    scores_of,
    worse,
)

FLOORS: dict[str, dict[str, float]] = json.loads(FLOORS_FILE.read_text())["floors"]


@pytest.mark.parametrize(("scene", "preset"), SYNTHETIC_CASES)
def test_a_synthetic_scene_is_recovered_as_well_as_before(scene: str, preset: str) -> None:
    assert worse(scores_of(SYNTHETIC[scene](), preset), FLOORS[f"{scene} {preset}"]) == []


@pytest.mark.parametrize(("scene", "preset"), REAL_CASES)
def test_a_real_scene_is_recovered_as_well_as_before(
    pixel4_data: Path, scene: str, preset: str
) -> None:
    scores = scores_of(real_scene(pixel4_data, scene), preset)
    assert worse(scores, FLOORS[f"{scene} {preset}"]) == []


def test_every_case_has_a_floor() -> None:
    assert set(FLOORS) == {f"{scene} {preset}" for scene, preset in SYNTHETIC_CASES + REAL_CASES}


@pytest.mark.parametrize("case", FLOORS)
def test_a_loss_is_noticed_in_every_score(case: str) -> None:
    floors = FLOORS[case]
    assert worse(floors, floors) == []
    assert {"psnr_db", "one_minus_ssim", "defocus_aiwe1", "rerendering_residual"} <= set(floors)
    for name, value in floors.items():
        lost = value - 0.1 if name == "psnr_db" else 1.03 * value
        assert len(worse({**floors, name: lost}, floors)) == 1, name
        assert len(worse({**floors, name: float("nan")}, floors)) == 1, name
