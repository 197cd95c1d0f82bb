"""Old spellings of options: the same meaning, and a note on standard error."""

from __future__ import annotations

import pytest

from napari_dpdeblur.cli import main
from napari_dpdeblur.cli.old_names import with_current_names

OLD = {
    "info c --black 4000 --white=16383": "info c --black-level 4000 --white-level=16383",
    "batch f --calibration c -o o --white 1": "batch f --calibration c -o o --white-level 1",
    "calibrate run --black b --vignetting v": "calibrate run --black b --sheets v",
    "simulate --size 96 128 -o o": "simulate --size 128x96 -o o",
}
CURRENT = (
    "",
    "info c --black-level 4000",
    "calibrate run --discs d --white w --black b --sheets s",
    "simulate --size 128x96 -o 3",
    "simulate -o o --size",
)


@pytest.mark.parametrize("command", OLD)
def test_an_old_name_is_accepted_with_a_note(command, capsys):
    assert with_current_names(tuple(command.split())) == OLD[command].split()
    note = capsys.readouterr().err
    assert "is deprecated; use --" in note


@pytest.mark.parametrize("command", CURRENT)
def test_current_names_are_left_alone(command, capsys):
    assert with_current_names(command.split()) == command.split()
    assert capsys.readouterr().err == ""


def test_each_old_option_is_named_in_its_own_line(capsys):
    with_current_names(["fit", "c", "--black", "1", "--white", "2"])
    assert capsys.readouterr().err == (
        "napari-dpdeblur: --black is deprecated; use --black-level.\n"
        "napari-dpdeblur: --white is deprecated; use --white-level.\n"
    )


def test_an_old_command_still_works(simulated, tmp_path, capsys):
    output = tmp_path / "again"
    assert main(["simulate", "-o", str(output), "--size", "96", "128", "--seed", "3"]) == 0
    assert "--size WIDTHxHEIGHT, here 128x96" in capsys.readouterr().err
    name = "synthetic_left.pgm"
    assert (output / name).read_bytes() == (simulated / name).read_bytes()
