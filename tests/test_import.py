"""Importing the package must stay cheap: napari imports every plugin it starts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "napari", "npe2", "qtpy", "PyQt6", "PySide6", "scipy", "cv2", "skimage")
REPORT = """
import json, sys
import {module}
print(json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""


def loaded_by(module: str) -> set[str]:
    """Top-level modules in memory after importing ``module`` in a fresh interpreter."""
    command = [sys.executable, "-c", REPORT.format(module=module)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(json.loads(output))


def test_the_package_loads_nothing_heavy():
    assert loaded_by("napari_dpdeblur").isdisjoint({*HEAVY, "numpy"})


@pytest.mark.parametrize("module", ["capture", "calibration", "evaluation", "results", "cli"])
def test_no_subpackage_but_the_optics_loads_torch_or_qt(module):
    loaded = loaded_by(f"napari_dpdeblur.{module}")
    assert loaded.isdisjoint({"torch", "napari", "qtpy", "PyQt6", "PySide6", "magicgui"})


def test_the_command_line_starts_without_numerics():
    assert loaded_by("napari_dpdeblur.cli").isdisjoint({*HEAVY, "pydantic"})
