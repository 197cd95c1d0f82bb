"""Packages that are loaded without garbage collection."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import gc, sys
from napari_dpdeblur.computing.loading import fast_loading, load_ahead
with fast_loading():
    assert not gc.isenabled()
    load_ahead("{package}")
    import {package}
assert gc.isenabled() and gc.get_freeze_count() > 0
with fast_loading():  # only the first one does anything
    assert gc.isenabled()
print("{package}" in sys.modules)
"""


def test_garbage_is_collected_again_when_packages_are_loaded() -> None:
    command = [sys.executable, "-c", CODE.format(package="colorsys")]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True\n"


def test_garbage_is_collected_again_after_an_error() -> None:
    code = (
        "import gc\nfrom napari_dpdeblur.computing.loading import fast_loading\n"
        "try:\n    with fast_loading():\n        raise ValueError\n"
        "except ValueError:\n    print(gc.isenabled())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "True\n"
