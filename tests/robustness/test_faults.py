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

    assert Estimate("standard", 3024, 4032, estimated_gb=5.0, peak_gb=4.9).holds
    assert not Estimate("standard", 3024, 4032, estimated_gb=5.0, peak_gb=5.1).holds
    assert not Estimate("standard", 3024, 4032, estimated_gb=9.0, peak_gb=6.1).holds


def test_the_quick_soak_has_all_parts_of_the_long_one() -> None:
    import robustness_soak

    long, quick = (
        {name for name, _, _ in robustness_soak.commands(is_quick, None, save=False)}
        for is_quick in (False, True)
    )
    assert long == quick
    assert {"kill", "disk", "fuzz", "memory", "batch", "places", "checkpoint"} <= quick


def test_the_soak_counts_broken_promises(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import robustness_soak

    promises = [("first", "exits with 0", "0"), ("second", "exits with 3", "3")]
    commands = [(n, p, [sys.executable, "-c", f"raise SystemExit({s})"]) for n, p, s in promises]
    monkeypatch.setattr(robustness_soak, "commands", lambda *options: commands)
    assert robustness_soak.main([]) == 1
    table = capfd.readouterr().out.splitlines()[-3:]
    assert [line.split()[:2] for line in table[:2]] == [["first", "kept"], ["second", "BROKEN"]]
    assert table[2] == "2 parts, 1 broken"
    assert robustness_soak.main(["--only", "first"]) == 0
