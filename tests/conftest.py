"""Fixtures that every test may use, and the limits under which all tests run."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from own_display import use_own_display

REPOSITORY = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "DPDEBLUR_TEST_DATA"
ONE_OF_SEVERAL = "PYTEST_XDIST_WORKER" in os.environ  # as `pytest -n 2` starts them

# Read by OpenMP and MKL when torch and scipy are first imported. At the size of the tests more
# threads cost more than they bring.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
# As the command line does: threads that spin while they wait slow each other down.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _has_display() -> bool:
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if ONE_OF_SEVERAL:
    use_own_display()
if not _has_display():
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def _qt_problem() -> str | None:
    """Why Qt cannot be used here; None when it can."""
    try:
        from qtpy import QtWidgets
    except ImportError as error:
        return f"Qt cannot be loaded: {error}"
    return None


QT_PROBLEM = _qt_problem()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the option for long tests; keep pytest-qt out where Qt cannot be loaded.

    pytest-qt would stop the whole run there (a machine without libEGL), so only the tests that
    ask for it are skipped.
    """
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow as well")
    if QT_PROBLEM is not None:
        pluginmanager.set_blocked("pytest-qt")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests unless they were asked for; share the work between processes."""
    if ONE_OF_SEVERAL:
        _share(items)
    if config.getoption("--run-slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes: ask for it with --run-slow"))


def _share(items: list[pytest.Item]) -> None:
    """One process for all windows, which may take the focus from each other, and for fixtures.

    What takes longest comes first, so that the others can fill the rest of the time.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_part(item)))
    items.sort(key=lambda item: _part(item) != "viewer")


def _part(item: pytest.Item) -> str:
    return item.path.relative_to(REPOSITORY).parts[1]


if QT_PROBLEM is not None:

    @pytest.fixture
    def qtbot() -> None:
        pytest.skip(str(QT_PROBLEM))


@pytest.fixture
def display() -> None:
    """Ask for this in tests that draw on napari's canvas: it needs OpenGL, hence a display."""
    if not _has_display():
        pytest.skip("no display: set DISPLAY or run the tests under xvfb-run")


@pytest.fixture(scope="session")
def pixel4_data() -> Path:
    """The folder of real captures that holds `pixel4/`, `app_capture/` and `reference/`."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        pytest.skip(f"needs real captures: set {DATA_VARIABLE} to their folder")
    if not (Path(folder) / "pixel4" / "calibration").is_dir():
        pytest.skip(f"needs real captures: {DATA_VARIABLE}={folder} has no pixel4/calibration")
    return Path(folder)


@pytest.fixture(scope="session")
def canon_data(pixel4_data: Path) -> Path:
    """The folder of real Canon captures, `box_001` and others."""
    folder = pixel4_data / "canon_r6"
    if not (folder / "box_001").is_dir():
        pytest.skip(f"needs real captures: {DATA_VARIABLE} has no canon_r6/box_001")
    return folder


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Start every test from the same random state, whichever order they run in."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (for libraries that draw from the global state)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
