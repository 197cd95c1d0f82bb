"""The plugin comes and goes through napari's real plugin manager, in a real window."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
NAMES = ("Dual-pixel deblur", "Calibrate", "Fit", "Inspect", "Evaluate")
PANELS = [f"{name} (Dual-pixel deblur)" for name in NAMES]
# Where continuous integration keeps pictures to look at; a temporary folder when not given.
PICTURES_VARIABLE = "DPDEBLUR_PICTURES"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the environment is made of links"),
]


@pytest.fixture(scope="module")
def environment(fresh_environment: Path) -> Path:
    """The fresh environment with napari's plugin manager in it."""
    _pip(fresh_environment, "install", "-q", "napari-plugin-manager")
    return fresh_environment


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get(PICTURES_VARIABLE) or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_install_use_and_uninstall(display, environment, distributions, pictures, tmp_path):
    wheel = distributions[".whl"]
    before = _files(environment)
    assert _installed_version(environment) is None

    assert _session(environment, tmp_path, "install", wheel, pictures / "install.png") == []
    assert _installed_version(environment) == wheel.name.split("-")[1]
    assert _session(environment, tmp_path, "use", pictures / "plugin_manager.png") == PANELS
    assert _session(environment, tmp_path, "uninstall", pictures / "uninstall.png") == PANELS
    assert _installed_version(environment) is None
    assert _session(environment, tmp_path, "look") == []
    assert _files(environment) == before, "nothing is left behind"


def _session(environment: Path, home: Path, action: str, *arguments: Path) -> list[str]:
    """One session of napari; what its Plugins menu offered at the start."""
    done = subprocess.run(
        [environment / "bin" / "python", HERE / "plugin_manager_session.py", action, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env={**_variables(), **_own_settings(home), "QT_API": "pyqt6"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    offered = re.search(r"^offered: (.*)$", done.stdout, re.MULTILINE)
    assert offered is not None, done.stdout
    return list(json.loads(offered[1]))


def _own_settings(home: Path) -> dict[str, str]:
    """Neither napari nor the plugin looks at the settings of whoever runs the tests."""
    return {"NAPARI_CONFIG": str(home / "napari.yaml"), "DPDEBLUR_CONFIG": str(home / "plugin")}


def _installed_version(environment: Path) -> str | None:
    code = (
        "from importlib import metadata, util\n"
        "names = {d.name: d.version for d in metadata.distributions()}\n"
        "assert ('napari-dpdeblur' in names) == (util.find_spec('napari_dpdeblur') is not None)\n"
        "print(names.get('napari-dpdeblur', ''))"
    )
    command = [environment / "bin" / "python", "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip() or None


def _pip(environment: Path, *arguments: str) -> None:
    command = [environment / "bin" / "python", "-m", "pip", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=_variables(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _variables() -> dict[str, str]:
    """pip keeps to the tested versions, whoever calls it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PIP_CONSTRAINT": str(REPOSITORY / "constraints.txt")}


def _files(environment: Path) -> set[str]:
    """Names in the environment's own folders, without what Python compiles on its own."""
    found = (path.relative_to(environment) for path in environment.rglob("*"))
    return {str(path) for path in found if "__pycache__" not in path.parts}
