"""What is uploaded: the source distribution and the wheel."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser

import pytest

from napari_dpdeblur import __version__

pytestmark = pytest.mark.slow


def run_tool(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tools_for_uploads_find_nothing(distributions):
    run_tool(sys.executable, "-m", "twine", "check", "--strict", *distributions.values())
    run_tool(sys.executable, "-m", "check_wheel_contents", distributions[".whl"])


def test_the_wheel_has_the_package_and_nothing_else(distributions):
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {
        "napari_dpdeblur",
        f"napari_dpdeblur-{__version__}.dist-info",
    }
    needed = ("napari.yaml", "icon.svg", "py.typed", "api.py", "evaluation/report/page.html")
    assert {f"napari_dpdeblur/{name}" for name in needed} <= set(names)


def test_the_wheel_tells_the_hub_what_it_needs(distributions):
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        folder = f"napari_dpdeblur-{__version__}.dist-info"
        metadata = BytesParser().parsebytes(wheel.read(f"{folder}/METADATA"))
    assert metadata["Name"] == "napari-dpdeblur"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "Framework :: napari" in metadata.get_all("Classifier")
    links = dict(entry.split(", ") for entry in metadata.get_all("Project-URL"))
    assert {"Homepage", "Source", "Documentation", "Bug Tracker", "User Support"} <= set(links)
    assert all(link.startswith("https://") for link in links.values())
    assert not any("PyQt" in name or "PySide" in name for name in _required(metadata)), "bring own"


def test_the_source_distribution_can_be_tested_and_built_again(distributions):
    with tarfile.open(distributions[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "napari.yaml", "README.md", "LICENSE", "CHANGELOG.md", "tox.ini"}
    needed |= {"CITATION.cff", "CONTRIBUTING.md", "constraints.txt", "tests/conftest.py"}
    assert needed <= names
    assert any(name.startswith("examples/") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".npz")]


def _required(metadata) -> list[str]:
    """Requirements without those of extras."""
    return [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
