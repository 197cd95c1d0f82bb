"""The pictures of the explanations come from scripts that still run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PLOTS = DOCS / "plots"
PICTURES = sorted(path for path in PLOTS.iterdir() if path.suffix in (".png", ".svg"))
SCRIPTS = sorted(path for path in PLOTS.glob("*.py") if path.stem != "common")


def test_every_picture_has_its_script_and_every_script_its_picture():
    assert [path.stem for path in PICTURES] == [path.stem for path in SCRIPTS]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_every_picture_is_shown_and_small(picture):
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    shown = re.compile(rf"!\[[^\]]+\]\([^)]*plots/{re.escape(picture.name)}\)")
    assert any(shown.search(page.read_text("utf-8")) for page in pages)
    assert picture.stat().st_size < 500_000


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_makes_its_picture(script, tmp_path):
    pytest.importorskip("matplotlib")
    environment = {**os.environ, "DPDEBLUR_PLOTS": str(tmp_path)}
    subprocess.run([sys.executable, str(script)], env=environment, check=True)
    assert [path.stem for path in tmp_path.iterdir()] == [script.stem]
