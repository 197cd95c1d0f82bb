"""The distributions, built once, and an environment that has everything but this plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DIST_VARIABLE = "DPDEBLUR_DIST"
# What a fresh environment must not have from the environment of the tests.
NOT_SHARED = ("napari_dpdeblur", "napari_plugin_manager", "__editable__", "pip-")


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Source distribution and wheel, as for a release: by suffix.

    Those in the folder that ``DPDEBLUR_DIST`` names, if it is set, else built here.
    """
    given = os.environ.get(DIST_VARIABLE)
    folder = Path(given) if given else tmp_path_factory.mktemp("dist")
    if not given:
        command = [sys.executable, "-m", "build", "--outdir", str(folder), str(REPOSITORY)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    found = {path.suffix: path for path in folder.iterdir()}
    assert set(found) == {".gz", ".whl"}
    return found


@pytest.fixture(scope="session")
def fresh_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and links to everything that is installed here, but no plugin."""
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    venv.create(folder, with_pip=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        is_shared = not any(name in path.name for name in NOT_SHARED)
        if is_shared and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    return folder
