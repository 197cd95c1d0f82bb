"""Workers: how many, where, and what is missing."""

from __future__ import annotations

import asyncio
import logging
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_command import command_of

from napari_dpdeblur.batch import Index
from napari_dpdeblur.batch.cluster import _quiet, connected, local_workers, threads_each
from napari_dpdeblur.cli import main
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.settings import FitSettings


def test_an_address_without_scheduler(
    captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("napari_dpdeblur.batch.cluster.CONNECT_S", 1)
    arguments = command_of(captures, calibration_path, tmp_path, "--scheduler", "tcp://127.0.0.1:1")
    assert main(arguments) == 2
    assert "There is no dask scheduler at tcp://127.0.0.1:1; start one" in capsys.readouterr().err


def test_the_missing_extra_is_named(
    captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(command_of(captures, calibration_path, tmp_path)) == 2
    assert "pip install 'napari-dpdeblur[distributed]'" in capsys.readouterr().err


def test_workers_follow_memory_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = FitSettings(device="cpu")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.setattr("napari_dpdeblur.batch.cluster.available_memory", lambda: 4_000_000_000)
    assert local_workers(None, 1_000_000_000, settings, 100) == 3
    assert local_workers(None, 1_000_000_000, settings, 2) == 2
    assert local_workers(None, 9_000_000_000, settings, 2) == 1
    assert local_workers(7, 9_000_000_000, settings, 2) == 7
    assert threads_each(settings, 3) == 2
    assert threads_each(settings.changed(threads=5), 3) == 5
    with pytest.raises(SettingsError, match="must be at least 1, not 0"):
        local_workers(0, 1, settings, 2)


def test_a_gpu_gets_one_capture_at_a_time(
    captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """Whatever is asked; a sentence says so. The batch itself is not run here."""
    import torch

    monkeypatch.setattr(
        "napari_dpdeblur.fitting.device.resolve_device", lambda _: torch.device("cuda")
    )
    started: list[int] = []

    @contextmanager
    def connected(scheduler: str, workers: int) -> Iterator[None]:
        started.append(workers)
        yield

    monkeypatch.setattr("napari_dpdeblur.batch.cluster.connected", connected)
    monkeypatch.setattr("napari_dpdeblur.batch.run.run_plan", lambda *_: Index())
    assert main(command_of(captures, calibration_path, tmp_path, "--workers", "4")) == 0
    assert started == [1]
    assert "a GPU fits one capture at a time: using 1 worker, not 4." in capsys.readouterr().err
    assert main(command_of(captures, calibration_path, tmp_path, "--workers", "1")) == 0
    assert "at a time" not in capsys.readouterr().err


def test_a_scheduler_without_workers_says_that_it_waits(
    captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """The batch itself is not run here: it would wait."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("napari_dpdeblur.batch.run.run_plan", lambda *_: Index())
    alone = distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with alone:
        address = alone.scheduler_address
        arguments = command_of(captures, calibration_path, tmp_path, "--scheduler", address)
        assert main(arguments) == 0
    sentence = (
        f"waiting for workers, because the scheduler at {address} has none; start one with `dask"
    )
    assert sentence in capsys.readouterr().err


def listening() -> dict[int, set[str]]:
    """Addresses on which this process and its children accept connections."""
    here = psutil.Process()
    return {
        process.pid: {c.laddr.ip for c in process.net_connections() if c.status == "LISTEN"}
        for process in (here, *here.children(recursive=True))
    }


def test_a_local_cluster_listens_on_this_computer_alone(client: Any) -> None:
    assert client.submit(sum, [1, 2]).result() == 3
    found = set().union(*listening().values())
    assert found == {"127.0.0.1"}


def test_a_local_cluster_answers_no_requests_of_a_browser(client: Any) -> None:
    port = client.cluster.scheduler.http_server.port
    for page in ("/", "/status", "/json/counts.json", "/metrics", "/info/main/workers.html"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10)


def _connects(address: str, security: Any) -> bool:
    """Whether a connection with these certificates is accepted.

    Not through ``Client``: collecting a failed one while the next starts can block for ever.
    """
    from distributed.comm import connect

    async def attempt() -> None:
        comm = await connect(address, timeout=2, **security.get_connection_args("client"))
        await comm.close()

    try:
        asyncio.run(attempt())
    except OSError:
        return False
    return True


def test_only_the_batch_itself_can_use_its_scheduler_and_workers(client: Any) -> None:
    """They would run any code of any user of this computer."""
    distributed = pytest.importorskip("distributed")
    addresses = [client.scheduler.address, *client.nthreads()]
    assert len(addresses) == 3
    own, none, other = client.security, distributed.Security(), distributed.Security.temporary()
    with _quiet(logging.CRITICAL):
        for address in addresses:
            assert _connects(address, own)
            assert not _connects(address.replace("tls://", "tcp://"), none)
            assert not _connects(address, other)
            with pytest.raises(TypeError):
                _connects(address, none)
    assert client.submit(sum, [1, 2]).result() == 3


def test_a_scheduler_with_tls_asks_for_a_certificate(
    client: Any, captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any
) -> None:
    address = client.scheduler.address
    assert main(command_of(captures, calibration_path, tmp_path, "--scheduler", address)) == 2
    assert f"The dask scheduler at {address} requires a TLS cert" in capsys.readouterr().err


def test_the_missing_package_for_tls_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with (
        pytest.raises(SettingsError, match="encrypts its connections with the package crypto"),
        connected("local", workers=1),
    ):
        pass


def test_two_batches_at_once(client: Any) -> None:
    """Warnings are errors here: a port that is taken must not be asked for."""
    with connected("local", workers=1) as other:
        assert other.submit(sum, [1, 2]).result() == 3
        assert client.submit(sum, [3, 4]).result() == 7
