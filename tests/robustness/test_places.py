"""Commands at random places with random streams (the long version: tox -e soak)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from napari_dpdeblur.cli import main
from robustness_places import PLACES, _broken, attempt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths and streams are those of POSIX")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places") / "simulated"
    assert main(["simulate", "-o", str(folder), "--size", "128x96", "--json"]) == 0
    return folder


@pytest.mark.parametrize("make", PLACES[2:], ids=lambda make: make.__name__)
def test_commands_end_with_a_sentence(make, simulated: Path) -> None:
    assert attempt(make, simulated, random.Random(make.__name__)) == []


def test_what_breaks_a_promise_is_found() -> None:
    commands = [["info", "a"], ["info", "b"], ["info", "c"]]
    found = _broken("here", commands, [2, "Traceback ..."], "libpng error", {".x.partial-1"})
    assert len(found) == 4
