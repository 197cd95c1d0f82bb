"""The verdict on a calibration."""

from __future__ import annotations

import pytest

from napari_dpdeblur.calibration.verdict import (
    RULES,
    Rule,
    verdict_lines,
)


def test_the_verdict_is_good_and_says_why(small_run):
    verdict = small_run.verdict
    bad = [check for check in verdict["checks"] if check["grade"] == "bad"]
    assert bad == []
    assert [check["name"] for check in verdict["checks"]] == [rule.name for rule in RULES]
    assert verdict["mean_disparity_px"] == pytest.approx(-3.0, abs=0.3)
    assert verdict["filled_tiles"] == []
    assert verdict["detection"]["discs_found"] > 100
    text = "\n".join(verdict_lines(verdict))
    assert text.startswith(f"verdict: {verdict['grade']}")
    assert "residual_to_noise" in text


def test_rules_grade_in_both_directions():
    falling = Rule("x", "", 1.0, 2.0, "")
    assert [falling.grade(v) for v in (0.5, 1.5, 3.0)] == ["good", "acceptable", "bad"]
    rising = Rule("x", "", 2.0, 1.0, "")
    assert [rising.grade(v) for v in (3.0, 1.5, 0.5)] == ["good", "acceptable", "bad"]
