"""Standard streams that are closed, full or cannot show every character."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from run_commands import PROGRAM, run_one

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams are those of POSIX")


def shell(simulated: Path, output: Path, streams: str) -> subprocess.CompletedProcess[str]:
    """A quick fit with the streams as a shell sets them up, such as `2>&-`."""
    words = [*PROGRAM, "fit", simulated, "--calibration", simulated / "synthetic.dpcal"]
    words += ["-o", output, "--preset", "preview", "--layers", "4"]
    script = f'exec "$@" {streams}'
    command = ["sh", "-c", script, "sh", *map(str, words)]
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=300)


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "<&- 2>&-", "<&- >&- 2>&-"])
def test_a_fit_needs_no_streams(simulated: Path, tmp_path: Path, streams: str) -> None:
    done = shell(simulated, tmp_path / "run", streams)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "run.yaml").is_file()
    assert ("layers" in done.stdout) == (">&- 2" not in streams)
    assert "%|" not in done.stdout, "notes must not get among the results"


def test_a_full_device_for_the_output_is_a_sentence(simulated: Path, tmp_path: Path) -> None:
    done = shell(simulated, tmp_path / "run", ">/dev/full")
    assert done.returncode == 2
    said = done.stderr.replace("\r", "\n").splitlines()[-1]
    assert said == (
        "napari-dpdeblur: The output cannot be printed: No space left on device; files that the "
        "command writes are complete."
    )
    assert (tmp_path / "run" / "run.yaml").is_file()


@pytest.mark.parametrize("words", [["--help"], ["info", "--help"], ["--version"]])
def test_help_on_a_full_device(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run_one(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("napari-dpdeblur: The output cannot be printed: No space")
    assert len(done.stderr.splitlines()) == 1


def test_more_output_than_the_buffer_holds_on_a_full_device(tmp_path: Path) -> None:
    """The error comes in the middle of printing, not at the end."""
    source = "print('x' * 100_000)"
    code = (
        "from napari_dpdeblur.cli import main, info; info.run = lambda a: exec(a.capture[0].name)"
    )
    with open("/dev/full", "w") as full:
        command = [PROGRAM[0], "-c", f"{code}; raise SystemExit(main())", "info", source]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be printed: No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_characters_that_the_terminal_cannot_show(simulated: Path, tmp_path: Path) -> None:
    folder = tmp_path / "Schärfe 焦点"
    shutil.copytree(simulated, folder)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = run_one("info", folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Sch\\xe4rfe \\u7126\\u70b9" in done.stdout
    missing = run_one("info", folder / "焦", env=environment)
    assert missing.returncode == 2
    assert "\\u7126 does not exist" in missing.stderr
