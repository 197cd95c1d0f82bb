"""kill -9 and a full disk at a few random moments (the long version: tox -e soak)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def run_script(name: str, *options: str) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(BENCHMARKS / name), *options, "--json"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.stdout, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@forks
def test_killed_at_random_moments() -> None:
    found = run_script("robustness_kill.py", "--moments", "4")
    assert found["broken"] == []
    assert found["died"] == 4
    assert 4 <= found["moments"] <= 8
    assert found["largest_difference"] == 0


@forks
def test_full_disk_at_random_writes() -> None:
    found = run_script("robustness_disk.py", "--trials", "24")
    assert found["broken"] == []
    assert found["refused"] >= 5
    assert found["went_well"] >= 1


@forks
def test_children_that_outlive_their_moment_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import robustness_kill as kill

    def every_third_survives(*known: Any) -> None:
        seen = known[-1]
        seen.moments += 1
        seen.died += seen.moments % 3 != 0

    monkeypatch.setattr(kill, "reference_of", lambda *_: None)
    monkeypatch.setattr(kill, "kill_once", every_third_survives)
    outcome = kill.kill_many(10, tmp_path, seed=0)
    assert (outcome.died, outcome.moments, outcome.broken) == (10, 14, [])
    monkeypatch.setattr(kill, "MOST_TRIES", 1)
    assert kill.kill_many(9, tmp_path, seed=0).broken == ["only 6 of 9 children died by the signal"]


def test_a_fit_that_takes_too_much_memory_is_a_miss() -> None:
    pytest.importorskip("resource")
    from robustness_memory import Estimate

    assert Estimate("standard", 3024, 4032, estimated_gb=7.0, peak_gb=6.9).holds
    assert not Estimate("standard", 3024, 4032, estimated_gb=7.0, peak_gb=7.1).holds
    assert not Estimate("standard", 3024, 4032, estimated_gb=9.0, peak_gb=8.1).holds


def test_the_soak_looks_for_seams_in_its_long_version_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import robustness_soak

    commands: list[list[str]] = []
    monkeypatch.setattr(robustness_soak, "_run", lambda command: commands.append(command) or False)
    monkeypatch.setattr(sys, "argv", ["robustness_soak.py"])
    robustness_soak.main()
    scripts = [Path(command[1]).name for command in commands]
    monkeypatch.setattr(sys, "argv", ["robustness_soak.py", "--short"])
    commands.clear()
    robustness_soak.main()
    short = [Path(command[1]).name for command in commands]
    assert set(scripts) - set(short) == {"seams.py"}
