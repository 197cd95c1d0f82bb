"""The README as the page of the package: no link may depend on the folder around it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from load_script import load_script

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = "https://example.org/project"


def long_description() -> str:
    """What hatchling gets from hatch_build.py."""
    pytest.importorskip("hatchling")
    module = load_script("hatch_build.py")
    metadata = {"urls": {"Source": SOURCE}}
    module.LongDescription(str(REPOSITORY), {}).update(metadata)
    return metadata["readme"]["text"]


def test_all_links_are_absolute_and_lead_to_files_that_exist():
    links = re.findall(r"\]\(([^)\s]+)\)", long_description())
    assert [link for link in links if "://" not in link] == []
    inside = [link.removeprefix(f"{SOURCE}/") for link in links if link.startswith(SOURCE)]
    paths = [path.split("/", 2)[2].partition("#")[0] for path in inside]
    assert len(paths) > 10
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_pictures_are_led_to_the_file_and_not_to_the_page_about_it():
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", long_description())
    assert [path for path in pictures if not path.startswith(f"{SOURCE}/raw/main/")] == []
    assert len(pictures) == 2
