"""`fit` and `demo` as a user calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import yaml

from napari_dpdeblur.cli import demo, main
from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.results import Result, read_run
from napari_dpdeblur.results.run_folder import (
    DISTANCE_FILE,
    KNOWN_FILES,
    LENS_FILE,
    RUN_FILES,
    TRUTH_FILES,
)

Failure = Callable[..., str]
PROGRAM = [
    sys.executable,
    "-c",
    # A job in the background of a shell ignores interrupts, and so would its children.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import torch; torch.set_num_threads(1); "
    "from napari_dpdeblur.cli import main; raise SystemExit(main())",
]


def arguments_of(simulated: Path, output: Path, *options: str) -> list[str]:
    capture, calibration = simulated / "synthetic_left.pgm", simulated / "synthetic.dpcal"
    files = ["fit", str(capture), "--calibration", str(calibration), "--output", str(output)]
    return [*files, "--preset", "preview", "--layers", "4", *options]


def test_a_fit_writes_a_run_folder(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert main(arguments_of(simulated, output)) == 0
    printed = capsys.readouterr()
    assert f"folder               {output}\n" in printed.out
    assert "image" in printed.err
    assert "100%" in printed.err
    assert sorted(path.name for path in output.iterdir()) == sorted((*RUN_FILES, LENS_FILE))
    record = read_run(output)
    assert record.all_in_focus.shape == (1, 96, 128)
    assert record.mpi_alpha.shape == (4, 1, 96, 128)
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "no checkpoint is left"


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> str:
    """A sentence that the fit adds to its result."""
    import napari_dpdeblur.fitting as fitting

    sentence = "Everything lies in front of the focus plane: are the views swapped?"
    really_fit = fitting.fit

    def fit_with_a_note(*given: object, **options: object) -> Result:
        result = really_fit(*given, **options)
        return replace(result, provenance={**result.provenance, "notes": [sentence]})

    monkeypatch.setattr(fitting, "fit", fit_with_a_note)
    return sentence


def test_notes_are_printed_apart_from_the_result(
    simulated: Path, tmp_path: Path, noted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments_of(simulated, tmp_path / "run")) == 0
    printed = capsys.readouterr()
    assert f"napari-dpdeblur: {noted}\n" in printed.err
    assert noted not in printed.out
    assert read_run(tmp_path / "run").notes == [noted]
    assert main(arguments_of(simulated, tmp_path / "again", "--json")) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["notes"] == [noted]
    assert f"napari-dpdeblur: {noted}\n" in printed.err


def test_the_verdict_is_told_at_the_end(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    standard = "--preset", "standard"
    assert main(arguments_of(simulated, tmp_path / "run", *standard)) == 0
    result = read_run(tmp_path / "run")
    assert result.verdict_text.startswith(f"The fit is {result.fit_verdict['verdict']}.")
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == f"napari-dpdeblur: {result.verdict_text}"
    assert main(arguments_of(simulated, tmp_path / "again", *standard, "--json")) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == told
    assert json.loads(printed.out)["fit_verdict"] == result.fit_verdict
    assert main(arguments_of(simulated, tmp_path / "quick", "--preset", "preview", "--json")) == 0
    printed = capsys.readouterr()
    assert "The fit is" not in printed.err
    assert "fit_verdict" not in json.loads(printed.out)


def test_run_yaml_tells_how_to_repeat_it(simulated: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    assert main(arguments_of(simulated, output, "--crop", "10,20,64,80")) == 0
    record = yaml.safe_load((output / "run.yaml").read_text(encoding="utf-8"))
    assert FitSettings.of(record["settings"]) == FitSettings(preset="preview", layers=4)
    assert len(record["capture"]["sha256"]) == 2
    assert len(record["calibration"]["sha256"]) == 64
    assert record["crop"] == [10, 20, 64, 80]
    assert {"timings_s", "elapsed_s", "versions", "loss_history", "torch"} <= set(record)
    assert read_run(output).defocus_map.shape == (64, 80)


def test_folders_above_the_output_are_made(simulated: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "results" / "run"
    assert main(arguments_of(simulated, output)) == 0
    assert read_run(output).defocus_map.shape == (96, 128)


def test_json_and_a_settings_file(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("front_scale: 0.2\nback_scale: 1.5\nlayers: 9\n", encoding="utf-8")
    options = ("--json", "--settings", str(file))
    assert main(arguments_of(simulated, tmp_path / "run", *options)) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    told = printed.err.splitlines()
    assert all(line.startswith("napari-dpdeblur: ") for line in told), "no progress bar for scripts"
    assert report["layers"] == 4, "the command line goes first"
    assert (report["back_scale"], report["front_scale"]) == pytest.approx((1.5, 0.2))
    assert report["elapsed_s"] > 0


# what cannot work is said at once, and nothing is written


def test_an_existing_run_is_not_replaced(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    output = tmp_path / "run"
    assert main(arguments_of(simulated, output)) == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    assert "already exists; choose another name" in failure(*arguments_of(simulated, output))
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    assert main(arguments_of(simulated, output, "--overwrite", "--layers", "3")) == 0
    assert len(read_run(output).defocus_scales) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("layers: 0", "layers = 0 cannot be used: input should be greater than or equal to 2"),
        ("front_scale: .nan", "front_scale = nan cannot be used: input should be a finite number"),
        ("weights: {data: .nan}", "weights.data = nan cannot be used"),
        ("{front_scale: 1.2, back_scale: 0.3}", "front scale (1.2) must be smaller than the back"),
        ("layer: 5", "There is no setting named layer; known settings are preset, layers,"),
        ("- layers", "The settings are not a mapping"),
        ("a: [", "The settings are not plain YAML"),
    ],
)
def test_settings_that_make_no_sense(
    simulated: Path, tmp_path: Path, text: str, sentence: str, failure: Failure
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text, encoding="utf-8")
    arguments = [a for a in arguments_of(simulated, tmp_path / "run") if a not in ("--layers", "4")]
    assert sentence in failure(*arguments, "--settings", str(file))
    assert [path.name for path in tmp_path.iterdir()] == ["settings.yaml"]


def test_no_layers(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    message = failure(*arguments_of(simulated, tmp_path / "run", "--layers", "0"))
    assert "The setting layers = 0 cannot be used" in message
    assert not list(tmp_path.iterdir())


def test_a_calibration_of_another_size(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    other = tmp_path / "other"
    assert main(["simulate", "-o", str(other), "--size", "96x64"]) == 0
    arguments = arguments_of(simulated, tmp_path / "run")
    arguments[arguments.index("--calibration") + 1] = str(other / "synthetic.dpcal")
    assert "does not match the calibration of synthetic lens" in failure(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_crop_outside(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    arguments = arguments_of(simulated, tmp_path / "run", "--crop", "0,0,200,50")
    assert "does not lie inside the calibrated field of 96 x 128 px" in failure(*arguments)
    assert not list(tmp_path.iterdir())


def test_a_device_that_is_not_here(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    missing = "mps" if torch.cuda.is_available() else "cuda"
    arguments = arguments_of(simulated, tmp_path / "run", "--device", missing)
    assert f"The device {missing} is not available;" in failure(*arguments)
    assert not list(tmp_path.iterdir())


def test_a_damaged_checkpoint(simulated: Path, tmp_path: Path, failure: Failure) -> None:
    checkpoint = tmp_path / "run.checkpoint"
    checkpoint.write_bytes(b"not a checkpoint")
    arguments = arguments_of(simulated, tmp_path / "run", "--resume")
    assert f"The checkpoint {checkpoint} is damaged; delete it" in failure(*arguments)
    assert not (tmp_path / "run").exists()


# killed in the middle


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, "the fit ended before it could be interrupted"
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(0.005)


def test_killed_and_resumed(simulated: Path, tmp_path: Path) -> None:
    options = ("--preset", "standard")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(arguments_of(simulated, whole, *options)) == 0
    command = [*PROGRAM, *arguments_of(simulated, killed, *options)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = tmp_path / "killed.checkpoint"
    wait_for(checkpoint, process)
    process.kill()
    process.wait()
    assert not killed.exists(), "nothing half-written"
    assert main(arguments_of(simulated, killed, *options, "--resume")) == 0
    first, second = read_run(whole), read_run(killed)
    for name in ("all_in_focus", "defocus_map", "confidence", "mpi_alpha"):
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), atol=1e-5, err_msg=name
        )
    assert not checkpoint.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no interrupt signal for another process")
def test_interrupted_by_the_keyboard(simulated: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    options = ("--preset", "paper")
    command = [*PROGRAM, *arguments_of(simulated, output, *options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(tmp_path / "run.checkpoint", process)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert b"was kept; add --resume to the same command to continue this fit." in error
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"], "it can be resumed"


# demo


def test_demo_fits_and_writes_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "SIZE", (96, 128))
    folder = tmp_path / "napari-dpdeblur-demo"
    assert main(["demo", "--headless"]) == 0
    for name in demo.OLD_FILES:  # as one of version 0.1: a second run replaces the first
        (folder / name).with_suffix(".tif").rename(folder / name)
    assert main(["demo", "--headless"]) == 0
    printed = capsys.readouterr().out
    assert f"Preview: {folder / 'preview.png'}\n" in printed
    assert "napari was not opened (--headless).\n" in printed
    record = read_run(folder)
    assert record.all_in_focus.shape == (3, 96, 128)
    assert record.provenance["settings"]["preset"] == demo.PRESET
    absent = {DISTANCE_FILE, "color_filled.tif", *TRUTH_FILES.values()}  # nothing to put there
    written = {*KNOWN_FILES, *demo.SIMULATED_FILES} - absent
    assert {path.name for path in folder.iterdir()} == written
    panels = cv2.imread(str(folder / "preview.png"))
    assert panels.shape[1] > 3 * 128, "input, all-in-focus image, defocus map"
    assert panels.std() > 20


def test_demo_shows_the_result_in_napari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(demo, "SIZE", (96, 128))
    monkeypatch.setattr(demo, "no_window_reason", lambda: None)
    monkeypatch.setattr(demo.subprocess, "run", lambda command, check: started.append(command))
    assert main(["demo", "-o", str(tmp_path / "run")]) == 0
    through_the_plugin = ["-m", "napari", "--plugin", "napari-dpdeblur", str(tmp_path / "run")]
    assert started == [[sys.executable, *through_the_plugin]]


def test_settings_without_effect_are_noted(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("seed: 3\nsteps: 100\nparameters: {search: {scales: 20}}\n", "utf-8")
    assert main(arguments_of(simulated, tmp_path / "run", "--settings", str(path), "--json")) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "setting" in line]
    assert notes == [
        "napari-dpdeblur: the setting seed was removed and is ignored",
        "napari-dpdeblur: setting steps is not used by preset preview",
    ]
    recorded = read_run(tmp_path / "run").provenance["settings"]
    assert recorded["parameters"]["search"]["scales"] == 20
    assert "seed" not in recorded


def test_the_number_of_layers_may_be_automatic(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments_of(simulated, tmp_path / "run", "--layers", "automatic")) == 0
    assert len(read_run(tmp_path / "run").defocus_scales) == 12  # of the preview
    with pytest.raises(SystemExit):
        main(arguments_of(simulated, tmp_path / "other", "--layers", "many"))
    assert "must be a whole number or automatic, not 'many'" in capsys.readouterr().err
