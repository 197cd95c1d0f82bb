"""Batches on a real cluster of two worker processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_command import command_of
from deadly_work import die

from napari_dpdeblur.batch import make_plan, read_index
from napari_dpdeblur.batch.cluster import connected
from napari_dpdeblur.batch.run import _reason, run_plan
from napari_dpdeblur.batch.work import Report
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import find_captures, open_capture
from napari_dpdeblur.cli import main
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.fitting import fit
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import write_run

SAME_FILES = ("all_in_focus.tif", "defocus_map.tif", "confidence.tif", "mpi.tif", "preview.png")


@pytest.fixture(scope="module")
def single_fits(
    captures: Path,
    calibration_path: Path,
    settings: FitSettings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """One run folder of each capture, fitted one by one in this process."""
    folder = tmp_path_factory.mktemp("single")
    calibration = load_calibration(calibration_path)
    for files in find_captures(captures):
        capture = open_capture(*files)
        write_run(fit(capture, calibration, settings), folder / capture.name)
    return folder


def assert_same_results(output: Path, single_fits: Path) -> None:
    for expected in sorted(single_fits.iterdir()):
        for name in SAME_FILES:
            found = (output / expected.name / name).read_bytes()
            assert found == (expected / name).read_bytes(), f"{expected.name}/{name}"


def test_bit_equal_to_single_fits_and_nothing_twice(
    client: Any,
    captures: Path,
    calibration_path: Path,
    settings: FitSettings,
    single_fits: Path,
    tmp_path: Path,
    count: int,
) -> None:
    plan = make_plan([captures], calibration_path, tmp_path, settings)
    reports: list[Report] = []
    index = run_plan(plan, client, on_report=reports.append)
    assert len(reports) == index.count("done") == count
    assert read_index(tmp_path) == index
    assert_same_results(tmp_path, single_fits)
    assert not (tmp_path / ".checkpoints").exists()
    assert not make_plan([captures], calibration_path, tmp_path, settings).pending


@pytest.mark.skipif(os.name != "posix", reason="kills as only POSIX systems can")
def test_a_lost_worker_and_a_bad_capture_stop_nobody(
    client: Any,
    captures: Path,
    calibration_path: Path,
    settings: FitSettings,
    single_fits: Path,
    tmp_path: Path,
    count: int,
) -> None:
    """A report is the moment to kill a worker that is in the middle of its next capture."""
    given = shutil.copytree(captures, tmp_path / "given")
    for side in ("left", "right"):
        (given / f"bad_{side}.pgm").write_bytes(b"P5 8 8 65535 too short")
    plan = make_plan([given], calibration_path, tmp_path / "out", settings)
    victims = list(client.run(os.getpid).values())
    reports: list[Report] = []

    def kill_once(report: Report) -> None:
        reports.append(report)
        if len(reports) == 3:
            os.kill(victims[0], signal.SIGKILL)

    index = run_plan(plan, client, on_report=kill_once)
    assert index.count("done") == count
    assert [e.name for e in index.captures if e.status == "failed"] == ["bad"]
    assert "bad_left.pgm is truncated" in next(e.message for e in index.captures if e.message)
    assert_same_results(tmp_path / "out", single_fits)


def finished(output: Path) -> dict[str, int]:
    """When each finished run appeared."""
    runs = output.glob("scene*/run.yaml")
    return {path.parent.name: path.stat().st_mtime_ns for path in runs}


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert process.poll() is None, "the batch ended too early"
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="interrupts like a terminal")
@pytest.mark.parametrize(
    ("name", "said"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated by SIGTERM")]
)
def test_interrupted_and_repeated(
    captures: Path,
    calibration_path: Path,
    single_fits: Path,
    tmp_path: Path,
    count: int,
    name: str,
    said: str,
) -> None:
    # A job in the background of a shell ignores interrupts, and so would its children.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = heard + "import sys; from napari_dpdeblur.cli import main; sys.exit(main())"
    output = tmp_path / "out"
    arguments = command_of(captures, calibration_path, output, "--workers", "2", "--json")
    settings = tmp_path / "settings.yaml"
    settings.write_text("threads: 1\ndevice: cpu\n")
    command = [sys.executable, "-c", program, *arguments, "--settings", str(settings)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: len(finished(output)) >= 2, process)
    if name == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    else:
        os.kill(process.pid, getattr(signal, name))
    _, errors = process.communicate()
    assert process.returncode == 128 + getattr(signal, name), errors.decode()
    before = finished(output)
    assert 2 <= len(before) < count
    assert errors.decode().strip().splitlines()[-2:] == [
        f"napari-dpdeblur: {len(before)} of {count} captures are finished and were kept in "
        f"{output}; start the same command again to continue.",
        f"napari-dpdeblur: {said}",
    ]
    listed = {e.name for e in read_index(output).captures if e.status == "done"}
    assert listed == set(before)
    assert not list(output.glob(".*.partial-*")), "workers leave nothing"
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert f'"computed": {count - len(before)}' in done.stdout.decode()
    after = finished(output)
    assert len(after) == count
    assert {name: after[name] for name in before} == before, "nothing was computed twice"
    assert_same_results(output, single_fits)


def test_a_scheduler_at_an_address(
    address: str, captures: Path, calibration_path: Path, tmp_path: Path, capsys: Any
) -> None:
    some = captures / "scene00_left.pgm"
    arguments = command_of(some, calibration_path, tmp_path, "--scheduler", address)
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "captures         1" in printed.out
    assert "has no workers" not in printed.err
    assert main(arguments) == 0
    assert "finished before  1" in capsys.readouterr().out


def test_failures_end_with_a_sentence(
    address: str, calibration_path: Path, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "given").mkdir()
    for side in ("left", "right"):
        (tmp_path / "given" / f"bad_{side}.pgm").write_bytes(b"P5 8 8 65535 too short")
    arguments = command_of(
        tmp_path / "given", calibration_path, tmp_path / "out", "--scheduler", address
    )
    assert main(arguments) == 2
    assert "1 of 1 captures failed. The first error: " in capsys.readouterr().err


def test_a_capture_that_kills_every_worker_is_named(
    captures: Path, calibration_path: Path, settings: FitSettings, tmp_path: Path, monkeypatch: Any
) -> None:
    """Dask tries again a few times; once is enough here."""
    pytest.importorskip("distributed")  # brings the defaults that are changed below
    import dask

    monkeypatch.setattr("napari_dpdeblur.batch.run.fit_one", die)
    given = [sorted(captures.glob("*_left.pgm"))[0]]
    plan = make_plan(given, calibration_path, tmp_path, settings)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        connected("local", workers=1) as client,
    ):
        index = run_plan(plan, client)
    (entry,) = index.captures
    assert entry.status == "failed"
    assert entry.message.startswith("The workers that fitted scene00 died repeatedly, perhaps")
    assert read_index(tmp_path) == index


def test_a_worker_without_the_package_is_named(
    client: Any,
    captures: Path,
    calibration_path: Path,
    settings: FitSettings,
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    def not_installed(task: Any) -> None:
        raise ModuleNotFoundError("No module named 'napari_dpdeblur'")

    monkeypatch.setattr("napari_dpdeblur.batch.run.fit_one", not_installed)
    given = [captures / "scene00_left.pgm"]
    (entry,) = run_plan(make_plan(given, calibration_path, tmp_path, settings), client).captures
    assert entry.message.startswith(
        "scene00 was not fitted because a package is missing on a worker (No module"
    )


def test_other_reasons_without_a_report(client: Any) -> None:
    def not_unpacked() -> None:
        raise RuntimeError("Error during deserialization.\nThis frequently")

    failed = client.submit(not_unpacked)
    failed.exception()
    assert _reason(failed, "a") == (
        "a was not fitted because dask failed: RuntimeError: Error during deserialization. This "
        "frequently"
    )
    cancelled = client.submit(time.sleep, 1)
    client.cancel([cancelled])
    assert _reason(cancelled, "a").startswith("The fit of a was cancelled by the dask scheduler")


def test_an_output_folder_that_cannot_be_made(
    client: Any, captures: Path, calibration_path: Path, settings: FitSettings, tmp_path: Path
) -> None:
    """Where it could have been made when the batch was planned."""
    plan = make_plan([captures], calibration_path, tmp_path / "file" / "out", settings)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match=r"cannot be used because .*file is not a folder"):
        make_plan([captures], calibration_path, tmp_path / "file" / "out", settings)
    with pytest.raises(ResultError, match=r"The output folder .* cannot be created: Not a"):
        run_plan(plan, client)
