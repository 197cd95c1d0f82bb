"""The benchmarks that promise something can fail; their figures belong to them, not here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cancel
import heartbeat
import objective


def beats(**changes: Any) -> dict[str, dict[str, Any]]:
    fit = {"holds": True, "cancel_s": 1.0, "paused_cpu": 0.049}
    sample = {"holds": True, heartbeat.SHOWN: heartbeat.SAMPLE_SHOWN_S}
    return {"fit": {**fit, **changes}, "calibration": {"holds": True}, "sample": sample}


def test_a_window_that_is_stuck_is_a_miss() -> None:
    assert heartbeat.missed(beats()) == []
    assert heartbeat.missed(beats(holds=False)) == ["the window was stuck during the fit"]
    assert heartbeat.missed({**beats(), "calibration": {"holds": False}}) == [
        "the window was stuck during the calibration"
    ]
    assert heartbeat.missed(beats(cancel_s=1.2)) == ["a cancelled fit took 1.2 s, at most 1.0"]
    assert len(heartbeat.missed(beats(paused_cpu=0.05))) == 1
    slow = {"holds": True, heartbeat.SHOWN: heartbeat.SAMPLE_SHOWN_S + 1}
    assert len(heartbeat.missed({**beats(), "sample": slow})) == 1


class FailingWidget:
    """What the heartbeat uses of a panel, whose job fails at once."""

    def __init__(self) -> None:
        self.slots: list[Any] = []
        self.panel = SimpleNamespace(
            worker=SimpleNamespace(failed=SimpleNamespace(connect=self.slots.append)),
            status=SimpleNamespace(text=lambda: "The fit failed."),
            run_button=SimpleNamespace(click=lambda: [slot("no memory") for slot in self.slots]),
        )


@pytest.mark.usefixtures("qtbot")
def test_a_job_that_fails_is_not_done() -> None:
    with pytest.raises(SystemExit, match="the job failed: no memory"):
        heartbeat.measured(SimpleNamespace(layers=[]), FailingWidget(), None)


@pytest.mark.parametrize(("gap_s", "status"), [(1.0, 0), (1.1, 1)])
def test_a_cancelled_fit_that_lingers_is_a_miss(
    gap_s: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cancel, "longest_gaps", lambda *_: {"image": gap_s, "end": 0.1})
    assert cancel.main(["--size", "96", "128", "--presets", "paper"]) == status
    assert f"paper: longest {gap_s:.2f} s, at most 1.0 (image" in capsys.readouterr().out


def test_an_objective_that_rises_is_a_miss() -> None:
    steady = np.linspace(2.0, 1.0, 400)
    assert objective.falls(steady)
    assert objective.falls(steady + 0.001 * (np.arange(400) % 2)), "it may jitter between steps"
    assert not objective.falls(np.abs(steady - 1.4))
    assert objective.falls(np.ones(100)), "too few steps"


def test_the_calibration_error_of_a_known_confidence() -> None:
    """Pixels of confidence 0.85 that are right as often have none; always right, 0.15."""
    from reliability import Reliability, expected_error, pooled

    confidence = np.full(2000, 0.85)
    honest = Reliability(confidence, np.arange(2000) % 20 < 17)
    modest = Reliability(confidence, np.ones(2000, bool))
    assert honest.error() == pytest.approx(0, abs=1e-9)
    assert modest.error() == pytest.approx(0.15)
    assert expected_error(pooled([honest, modest])) == pytest.approx(0.075)


def test_a_wrong_case_needs_its_own_cause_and_a_right_one_must_not_be_doubtful() -> None:
    from doubtful_fits import Case

    wrong = Case("base", "noise", None, None, cause="but noise")  # type: ignore[arg-type]
    assert wrong.is_right("doubtful", ["The views show hardly anything but noise: ..."])
    assert not wrong.is_right("doubtful", ["The two views are identical: ..."])
    assert not wrong.is_right("acceptable", ["... but noise"])
    right = Case("base", "right", None, None)  # type: ignore[arg-type]
    assert right.is_right("acceptable", ["12% of the pixels are clipped."])
    assert not right.is_right("doubtful", ["..."])
