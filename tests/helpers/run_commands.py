"""Run commands of the command line in a new process, with fewer rights if wanted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

PROGRAM = [sys.executable, "-c", "from napari_dpdeblur.cli import main; raise SystemExit(main())"]
# One after the other in one process: each has its own status, output and notes.
_MANY = """
import contextlib, io, json, sys, traceback
from napari_dpdeblur.cli import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(json.loads(line))
        except SystemExit as stop:
            status = stop.code
        except BaseException:
            status = traceback.format_exc()
    sys.__stdout__.write(json.dumps([status, out.getvalue(), err.getvalue()]) + "\\n")
"""


@dataclass(frozen=True)
class Outcome:
    """Exit status (or traceback), standard output and standard error of one command."""

    status: int | str
    output: str
    notes: str

    @property
    def sentences(self) -> list[str]:
        """Lines on standard error, without progress bars."""
        lines = self.notes.replace("\r", "\n").splitlines()
        return [line for line in lines if line.strip() and "%|" not in line]


def rightless() -> list[str]:
    """Start of a command whose process may do what permissions allow, even as root."""
    if os.name != "posix":
        pytest.skip("file permissions are those of POSIX")
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root can open everything, and setpriv is missing")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def run_one(
    *words: object, rights: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    command = [*([] if rights else rightless()), *PROGRAM, *map(str, words)]
    options = {"capture_output": True, **options}
    return subprocess.run(command, text=True, check=False, timeout=300, **options)


def run_many(commands: Sequence[Sequence[str]], rights: bool = True) -> list[Outcome]:
    """Run commands in one process, one after the other."""
    lines = "".join(json.dumps(list(words)) + "\n" for words in commands)
    start = [] if rights else rightless()
    done = subprocess.run(
        [*start, sys.executable, "-c", _MANY],
        input=lines,
        text=True,
        capture_output=True,
        check=False,
        timeout=600,
    )
    found = [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(commands), done.stderr
    return found
