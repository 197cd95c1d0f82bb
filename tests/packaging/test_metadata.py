"""Files around the package that say something about it say the same."""

from __future__ import annotations

import configparser
import re
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml

from napari_dpdeblur import __version__

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == "BSD-3-Clause"
    assert citation["references"][0]["doi"].startswith("10.")


def test_the_changelog_begins_with_what_is_new():
    titles = re.findall(r"^## (.+)$", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert titles[0] == "Unreleased" or titles[0].startswith(__version__)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="reads TOML with the standard library")
def test_everything_that_development_needs_has_a_tested_version():
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {re.split(r"[\[<>=; ]", entry)[0].lower() for entry in wanted} - {"napari-dpdeblur"}
    pins = (REPOSITORY / "constraints.txt").read_text("utf-8").lower()
    pinned = set(re.findall(r"^([\w.-]+)==", pins, re.M))
    assert names - pinned == set()


def test_the_environments_that_contributors_are_told_exist():
    told = re.findall(
        r"^\| `([a-z]+)` \|", (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8"), re.M
    )
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(REPOSITORY / "tox.ini")
    others = {"pyside6", "oldest", "lint", "type", "docs", "demo", "bench", "soak"}
    assert others == {*told, "pyside6"}
    assert {f"testenv:{name}" for name in told} <= set(tox.sections())


def test_hooks_before_a_commit_need_no_network():
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    assert all(hook["language"] == "system" for hook in hooks["repos"][0]["hooks"])
