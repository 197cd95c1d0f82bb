"""`kill` and a closed terminal end a command as Ctrl-C does: what is finished is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from run_commands import PROGRAM

from napari_dpdeblur.cli.signals import Stopped, stopping_signals

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_fit_says_what_was_kept(simulated: Path, tmp_path: Path, name: str) -> None:
    lens = str(simulated / "synthetic.dpcal")
    words = ["fit", str(simulated), "--calibration", lens, "-o", str(tmp_path / "new" / "run")]
    checkpoint = tmp_path / "new" / "run.checkpoint"
    process = subprocess.Popen(
        [*PROGRAM, *words, "--preset", "paper"], stderr=subprocess.PIPE, text=True
    )
    while not checkpoint.exists():
        assert process.poll() is None, "the fit ended before it could be stopped"
    process.send_signal(getattr(signal, name))
    _, notes = process.communicate(timeout=60)
    assert process.returncode == 128 + getattr(signal, name)
    assert "Traceback" not in notes
    said = notes.replace("\r", "\n").splitlines()[-2:]
    kept = f"{checkpoint} was kept; add --resume to the same command to continue this fit."
    assert said == [f"napari-dpdeblur: {kept}", f"napari-dpdeblur: terminated by {name}"]
    assert [path.name for path in checkpoint.parent.iterdir()] == ["run.checkpoint"]


def test_signals_that_are_ignored_stay_so() -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            with pytest.raises(Stopped, match="SIGTERM"):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_leave_signals_alone() -> None:
    found: list[object] = []

    def work() -> None:
        with stopping_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]
