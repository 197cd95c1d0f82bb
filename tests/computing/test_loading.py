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


def test_a_rarely_used_part_is_loaded_when_something_of_it_is_used() -> None:
    code = (
        "import sys\nfrom napari_dpdeblur.computing import loading\n"
        "loading.RARELY_USED['xml'] = ('xml.dom',)\nloading.load_ahead('xml')\n"
        "import xml.dom as dom\nbefore = 'xml.dom.domreg' in sys.modules\n"
        "print(before, dom.Node.__name__, sys.modules['xml.dom'] is not dom)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "False Node True\n"


def test_torch_loads_its_rarely_used_part_when_asked() -> None:
    code = (
        "import sys\nfrom napari_dpdeblur.computing.loading import load_ahead\n"
        "load_ahead('torch')\nimport torch\nbefore = 'torch._decomp' in sys.modules\n"
        "ones = torch.fft.irfft2(torch.fft.rfft2(torch.ones(8, 8))).sum()\n"
        "torch._meta_registrations.register_meta\n"
        "print(before, int(ones), 'torch._decomp' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "False 64 True\n", found.stderr
