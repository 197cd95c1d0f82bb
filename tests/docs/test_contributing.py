"""CONTRIBUTING.md: its picture of the architecture and its list of files are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "napari_dpdeblur"
TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
STEP = re.compile(r"^\d+\. `([\w/]+\.py)`: (.+)$", re.MULTILINE)
STEPS = STEP.findall(TEXT.partition("### Follow one capture")[2].partition("\n## ")[0])


def layers() -> list[list[str]]:
    """The layers of the import contract, from top to bottom."""
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def drawn_names(known: set[str]) -> list[str]:
    """The names in the picture, line by line; lines with other words are captions."""
    picture = TEXT.partition("```text")[2].partition("```")[0]
    lines = [re.findall(r"\w+", line) for line in picture.splitlines()]
    return [word for line in lines if known.issuperset(line) for word in line]


def test_the_picture_shows_the_layers_of_the_import_contract_in_order():
    rank = {name: number for number, layer in enumerate(layers()) for name in layer}
    drawn = drawn_names(set(rank))
    assert sorted(drawn) == sorted(rank)
    assert [rank[name] for name in drawn] == sorted(rank.values())


def test_a_capture_passes_at_most_15_files():
    assert 10 <= len(STEPS) <= 15


@pytest.mark.parametrize(("path", "meaning"), STEPS)
def test_a_file_that_a_capture_passes_holds_what_is_said(path, meaning):
    source = (PACKAGE / path).read_text("utf-8")
    for name in re.findall(r"`([A-Za-z_.]+)`", meaning):
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", source), name
