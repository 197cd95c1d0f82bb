"""What people type wrong: one sentence or argparse's line, status 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from napari_dpdeblur.cli import main
from napari_dpdeblur.cli.main import COMMANDS

# {s}: a simulated capture, {o}: an output that does not exist, {f}: a text file, {e}: an empty
# folder.
LENS = "--calibration {s}/synthetic.dpcal"
SHOTS = "--discs {s} --white {s} --black {s}"
SENTENCES = {
    "info {e}/nowhere": "nowhere does not exist",
    "info {f}": "is not named like a view of a dual-pixel capture",
    "info {s} --black-level 99999": "the black level (99999) must be at least 0 and below",
    "convert {e} -o {o}": "contains no dual-pixel capture",
    "convert {s} -o {s}": "already exists; choose another name.",
    "fit {s} --calibration {e}/nowhere -o {o}": "The calibration {e}/nowhere does not exist",
    "fit {s} --calibration {f} -o {o}": "is not a calibration file",
    "fit {s} --calibration {e} -o {o}": "blur_kernels_left.npy is missing",
    f"fit {{s}} {LENS} -o {{f}}": "is a file; choose the name of a new folder",
    f"fit {{s}} {LENS} -o {{f}}/run": "cannot be created because {f} is not a folder",
    f"fit {{s}} {LENS} -o {{o}} --crop 0,0,0,0": "does not lie inside the calibrated field",
    f"fit {{s}} {LENS} -o {{o}} --settings {{e}}/none.yaml": "cannot be read: No such file",
    f"batch {{e}} {LENS} -o {{o}}": "contains no complete dual-pixel capture",
    f"batch {{s}} {LENS} -o {{f}}": "is a file; choose the name of a folder",
    "simulate -o {o} --size 0x0": "at least 16 x 16 px",
    f"render {{f}} {LENS} -o {{o}}": "damaged or not a TIFF file",
    "evaluate {e} --sharp {f}": "all_in_focus.tif does not exist",
    "evaluate {s}": "specify a sharp image, a defocus map or both",
    f"baseline onnx {{s}} {LENS} -o {{o}} --model {{f}}": "use a file in the ONNX format",
    "benchmark {e} -o {o}": "contains no captures or ground truth",
    "benchmark {s} -o {o}": "has no folder calibration; use --calibration CAL or",
    f"ablation {{s}} {LENS} -o {{o}} --crop 90,0,32,32": "The crop of 32 x 32 px at (90, 0)",
    "focus-stack {e} -o {o} --name 1": "specify the images from near to far",
    "focus-stack {f} -o {o} --name 1": "The slice {f} cannot be read",
    "fetch pixel4 --scenes 0": "There is no published Pixel 4 scene 000",
    "fetch canon-r6 --scenes box_9": "There is no published Canon R6 scene box_9",
    "fetch canon-r6 --calibration-only": "canon-r6 has no calibration",
    "demo -o {s}": "already exists; choose another name",
    "calibrate target --screen 99999x99999 -o {o}": "the maximum is 20000 px",
    "calibrate target --screen 64x64 -o {o}": "is too small for discs",
    "calibrate simulate --size 672x503 -o {o}": "The number of rows must be even",
    f"calibrate run {SHOTS} --target {{e}}/none -o {{o}}": "The target {e}/none cannot be read",
    f"calibrate run {SHOTS} --target {{f}} -o {{o}}": "is not a calibration target",
    "calibrate estimate {e}/nowhere -o {o}": "nowhere does not exist",
    "calibrate estimate {e} -o {o}": "contains no dual-pixel capture",
    "calibrate estimate {f} -o {o}": "is not named like a view of a dual-pixel capture",
    "calibrate estimate {s} -o {f}": "already exists and is not overwritten",
    "fit {e}/nowhere -o {o}": "nowhere does not exist",
    "batch {e} -o {o}": "contains no complete dual-pixel capture",
    "batch {s} -o {f}": "is a file; choose the name of a folder",
    "render {s} -o {o}": "comes without a lens.dpcal; give the calibration",
    "calibrate show {e}/nowhere": "The calibration {e}/nowhere does not exist",
    "calibrate distance {s}/synthetic.dpcal --constants 1 nan": "must be finite numbers",
    "calibrate distance {s}/synthetic.dpcal --constants 1 0": "The lens constant B must not be 0",
    "calibrate distance {s}/synthetic.dpcal --at 0.4 {s}/synthetic.dpcal": "need at least two",
}
USAGE = {
    "": "the following arguments are required: COMMAND",
    "fitt": "invalid choice: 'fitt'",
    "calibrate": "the following arguments are required: STEP",
    "fit {s}": "the following arguments are required: -o/--output",
    "fit {s} -o {o} --known-distance 1,2": "must be Y,X,METRES: two whole numbers and a distance",
    "fit {s} -o {o} --known-distance 1,2,-3": "a distance above 0, not '1,2,-3'",
    "calibrate estimate {s}": "the following arguments are required: -o/--output",
    "calibrate estimate {s} -o {o} --profile nokia": "invalid choice: 'nokia'",
    f"fit {{s}} {LENS} -o {{o}} --preset fast": "invalid choice: 'fast'",
    f"fit {{s}} {LENS} -o {{o}} --crop 1,2,3": "must be four whole numbers Y,X,H,W, not '1,2,3'",
    f"batch {{s}} {LENS} -o {{o}} --workers 0": "must be a whole number of at least 1, not '0'",
    "simulate -o {o} --size 96": "must be WIDTHxHEIGHT, such as 1920x1080",
    "simulate -o {o} --seed -1": "must be a whole number of at least 0, not '-1'",
    f"benchmark {{s}} {LENS} -o {{o}} --threads 0": "must be a whole number of at least 1, not '0'",
    f"ablation {{s}} {LENS} -o {{o}} --steps few": "a whole number of at least 1, not 'few'",
    "fetch pixel5": "invalid choice: 'pixel5'",
    "calibrate target --screen 1920 -o {o}": "must be WIDTHxHEIGHT, such as 1920x1080",
    "calibrate target --screen 1920x1080 --pitch 0 -o {o}": "must be a number above 0, not '0'",
    "calibrate target --screen 1920x1080 --diagonal large -o {o}": "above 0, not 'large'",
    "calibrate simulate --burst -1 -o {o}": "must be a whole number of at least 1, not '-1'",
    "calibrate distance {s}/synthetic.dpcal": "one of the arguments --constants --at is required",
}


@pytest.fixture
def places(simulated: Path, tmp_path: Path) -> dict[str, Path]:
    """What stands for the letters in the commands."""
    output, notes, empty = tmp_path / "output", tmp_path / "notes.txt", tmp_path / "empty"
    notes.write_text("hello")
    empty.mkdir()
    return {"s": simulated, "o": output, "f": notes, "e": empty}


@pytest.mark.parametrize("command", SENTENCES)
def test_input_that_cannot_be_used(command, failure, places):
    before = {path: path.stat().st_mtime_ns for path in places["s"].iterdir()}
    words = [word.format(**places) for word in command.split()]
    assert SENTENCES[command].format(**places) in failure(*words)
    assert not places["o"].exists()
    assert {path: path.stat().st_mtime_ns for path in places["s"].iterdir()} == before


@pytest.mark.parametrize("command", USAGE)
def test_arguments_that_mean_nothing(command, capsys, places):
    with pytest.raises(SystemExit) as stop:
        main([word.format(**places) for word in command.split()])
    assert stop.value.code == 2
    assert USAGE[command] in capsys.readouterr().err.splitlines()[-1]
    assert not places["o"].exists()


def test_every_command_is_tried():
    tried = {command.split()[0] for command in (*SENTENCES, *USAGE) if command}
    names = {module.__name__.rpartition(".")[2].replace("_", "-") for module in COMMANDS}
    assert names <= tried


def test_too_little_memory_is_a_sentence(monkeypatch, capsys):
    def run(arguments):
        raise MemoryError

    monkeypatch.setattr("napari_dpdeblur.cli.info.run", run)
    assert main(["info", "somewhere"]) == 2
    assert capsys.readouterr().err == "napari-dpdeblur: not enough memory.\n"
