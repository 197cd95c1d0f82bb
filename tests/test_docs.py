"""What the documentation says has to be true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from napari_dpdeblur.cli.main import build_parser

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, (language, code) in enumerate(BLOCK.findall(page.read_text("utf-8")))
    if language == "python"
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_python_examples_run(code, pixel4_data, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_readme_lists_every_command():
    described = set(re.findall(r"^\| `napari-dpdeblur ([\w-]+)", PAGES[0].read_text("utf-8"), re.M))
    choices = next(a.choices for a in build_parser()._actions if isinstance(a.choices, dict))
    assert described == set(choices)


def test_the_readme_has_exactly_two_commands_for_a_fresh_machine():
    text = PAGES[0].read_text("utf-8")
    names = re.findall(r"<!-- command: (\w+) -->\n```sh\npython3 -m venv [^\n]+\n```", text)
    assert names == ["demo", "test"]
    assert len(re.findall(r"^```sh$", text, re.MULTILINE)) == 2
