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
    found = run_script("robustness_kill.py", "--moments", "6")
    assert found["broken"] == []
    assert found["died"] >= 3
    assert found["largest_difference"] == 0


@forks
def test_full_disk_at_random_writes() -> None:
    found = run_script("robustness_disk.py", "--trials", "15")
    assert found["broken"] == []
    assert found["refused"] >= 3
    assert found["went_well"] >= 1
