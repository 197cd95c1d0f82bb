"""Whoever closes the whole window in the middle of something ends the program, and only that."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).parents[1] / "helpers" / "close_window.py"
PATIENCE_S = 240


@pytest.mark.parametrize("what", ["fit", "refocus"])
def test_closing_the_window_during(what, display, tmp_path):
    environment = {
        **os.environ,
        "DPDEBLUR_CONFIG": str(tmp_path),
        "DPDEBLUR_CACHE": str(tmp_path),
        "PYTHONPATH": str(SCRIPT.parent),
    }
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", SCRIPT, what],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "ended"
    pid = next(int(line.split()[1]) for line in lines if line.startswith("closed "))
    assert what != "fit" or has_ended(pid)


def has_ended(pid):
    """Whether a process that nobody waits for any more ends soon."""
    try:
        process = psutil.Process(pid)
        deadline = time.monotonic() + PATIENCE_S
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.1)
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
