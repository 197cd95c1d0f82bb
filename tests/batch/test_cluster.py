"""Workers: how many, where, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from batch_command import command_of

from napari_dpdeblur.batch import Index
from napari_dpdeblur.batch.cluster import connected, local_workers, threads_each
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
    pytest.importorskip("distributed")
    monkeypatch.setattr("napari_dpdeblur.batch.run.run_plan", lambda *_: Index())
    with connected("local", workers=0) as alone:
        address = alone.scheduler.address
        arguments = command_of(captures, calibration_path, tmp_path, "--scheduler", address)
        assert main(arguments) == 0
    sentence = (
        f"waiting for workers, because the scheduler at {address} has none; start one with `dask"
    )
    assert sentence in capsys.readouterr().err


def test_two_batches_at_once(client: Any) -> None:
    """Warnings are errors here: a port that is taken must not be asked for."""
    with connected("local", workers=1) as other:
        assert other.submit(sum, [1, 2]).result() == 3
        assert client.submit(sum, [3, 4]).result() == 7
