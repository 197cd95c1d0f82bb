"""Small captures, their calibration, and a real cluster of two processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.settings import FitSettings

SIZE = (48, 64)
# Few captures in the suite, as many as promised with --run-slow.
FEW, MANY = 8, 20


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Clients that failed are collected here: while another one starts, that can block for ever."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def calibration_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calibration") / "lens.dpcal"
    save_calibration(replace(synthetic_calibration(*SIZE, 1, 1), vignetting=None), path)
    return path


@pytest.fixture(scope="session")
def count(pytestconfig: pytest.Config) -> int:
    """How many captures there are."""
    return MANY if pytestconfig.getoption("--run-slow") else FEW


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory, count: int) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    for seed in range(count):
        capture = render_capture(synthetic_scene(*SIZE, seed=seed), pixel_aspect=2, seed=seed)
        write_pgm_pair(folder, f"scene{seed:02d}", *capture.raw[:, 0])
    return folder


@pytest.fixture(scope="session")
def settings() -> FitSettings:
    return FitSettings(preset="preview", layers=4, device="cpu", threads=1)


@pytest.fixture(scope="package")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="the extra distributed is not installed")
    from napari_dpdeblur.batch.cluster import connected

    with connected("local", workers=2) as found:
        yield found


@pytest.fixture
def address(client: Any, tmp_path: Path) -> Iterator[str]:
    """The address of that cluster, for commands that have its certificate as the guide says."""
    import dask

    security = client.security
    given = {
        "ca-file": security.tls_ca_file,
        "client.key": security.tls_client_key,
        "client.cert": security.tls_client_cert,
    }
    folder = tmp_path / "tls"
    folder.mkdir()
    for name, content in given.items():
        (folder / name).write_text(content)
    files = {f"distributed.comm.tls.{name}": str(folder / name) for name in given}
    with dask.config.set(files):
        yield client.scheduler.address
