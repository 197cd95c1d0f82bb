"""What the tests of all commands need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from napari_dpdeblur.cli import main


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated capture with its calibration and truth; not to be changed."""
    folder = tmp_path_factory.mktemp("cli") / "simulated"
    assert main(["simulate", "-o", str(folder), "--size", "128x96", "--seed", "3"]) == 0
    return folder


@pytest.fixture
def failure(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must fail: status 2 and one sentence, which is returned."""

    def run(*arguments: str | Path) -> str:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = captured.err.replace("\r", "\n").splitlines()
        said = [line for line in lines if line.strip() and "%|" not in line]  # no progress bars
        assert len(said) == 1, "one sentence, no traceback"
        assert said[0].startswith("napari-dpdeblur: ")
        assert said[0].endswith(".")
        return said[0]

    return run
