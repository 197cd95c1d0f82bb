"""Places that nobody may look at or that cannot exist: one sentence, status 2, no traceback."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from run_commands import Outcome, run_many, run_one

from napari_dpdeblur.cli import main
from robustness_places import INPUTS, OUTPUTS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths and rights are those of POSIX")


@pytest.fixture
def answers(simulated: Path, tmp_path: Path) -> Callable[..., dict[str, Outcome]]:
    """Run commands with a place; in a process without the rights of root if wanted."""

    def run(place: Path | str, commands: tuple[str, ...], rights: bool) -> dict[str, Outcome]:
        names = {"p": place, "s": simulated, "o": tmp_path / "output"}
        words = [[word.format(**names) for word in command.split()] for command in commands]
        return dict(zip(commands, run_many(words, rights), strict=True))

    return run


def assert_one_sentence(answers: dict[str, Outcome]) -> None:
    for command, outcome in answers.items():
        assert outcome.status == 2, f"{command}: {outcome}"
        assert len(outcome.sentences) == 1, f"{command}: {outcome}"
        assert outcome.sentences[0].startswith("napari-dpdeblur: "), command
        assert outcome.output == "", command


def test_a_folder_without_search_permission(
    answers: Callable[..., dict[str, Outcome]], tmp_path: Path
) -> None:
    place = tmp_path / "locked"
    place.mkdir()
    for name in ("a_left.pgm", "a_right.pgm", "lens.dpcal", "mpi.tif", "a.png", "a.yaml"):
        (place / name).write_bytes(b"P5 1 1 65535 ab")
    place.chmod(0o600)
    try:
        found = answers(place, (*INPUTS, *OUTPUTS), rights=False)
    finally:
        place.chmod(0o700)
    assert_one_sentence(found)
    assert "Permission denied" in found["info {p}"].notes
    assert len(list(place.iterdir())) == 6, "nothing is left there"
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("place", "reason"),
    [("x" * 300, "File name too long"), ("/".join(["x" * 200] * 25), "File name too long")],
    ids=["name", "path"],
)
def test_names_and_paths_that_are_too_long(
    answers: Callable[..., dict[str, Outcome]], tmp_path: Path, place: str, reason: str
) -> None:
    found = answers(tmp_path / place, (*INPUTS, *OUTPUTS), rights=True)
    assert_one_sentence(found)
    assert reason in found["info {p}"].notes
    assert "bytes is longer than the" in found["simulate -o {p}/x"].notes
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_user_who_does_not_exist(
    answers: Callable[..., dict[str, Outcome]],
) -> None:
    found = answers("~nosuchuser", INPUTS, rights=True)
    assert_one_sentence(found)
    assert "~nosuchuser does not exist, because there is no such user" in found["info {p}"].notes


def quick_fit(simulated: Path, output: Path, *options: str) -> list[str]:
    lens = str(simulated / "synthetic.dpcal")
    words = ["fit", str(simulated), "--calibration", lens, "-o", str(output), *options]
    return [*words, "--preset", "preview", "--layers", "4", "--json"]


@pytest.mark.parametrize("name", ["n" * 245, "n" * 255, "焦" * 85, "n" * 200 + "." + "s" * 54])
def test_long_names_that_are_possible_work(simulated: Path, tmp_path: Path, name: str) -> None:
    """The names of checkpoints and temporary folders are longer than the name itself."""
    assert main(quick_fit(simulated, tmp_path / name)) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["n" * 256, "焦" * 86])
def test_names_that_are_impossible_are_refused_at_once(
    simulated: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(quick_fit(simulated, tmp_path / "new" / name)) == 2
    assert "bytes is longer than the 255 bytes that are possible" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()), "no parents of the checkpoint"


def test_a_dangling_link_is_refused_at_once(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").symlink_to(tmp_path / "nowhere")
    start = time.monotonic()
    for output in (tmp_path / "run", tmp_path / "run" / "deeper"):
        assert main([*quick_fit(simulated, output), "--overwrite"]) == 2
        sentence = f"run is a link to {tmp_path / 'nowhere'}, which does not exist"
        assert sentence in capsys.readouterr().err
    assert time.monotonic() - start < 5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_fit_that_fails_leaves_no_parent_folders(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = quick_fit(simulated, tmp_path / "new" / "deep" / "run", "--crop", "90,0,32,32")
    assert main(words) == 2
    assert "The crop" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_missing_parents_are_made(simulated: Path, tmp_path: Path) -> None:
    assert main(quick_fit(simulated, tmp_path / "new" / "deep" / "run")) == 0
    assert [path.name for path in (tmp_path / "new" / "deep").iterdir()] == ["run"]


def test_a_folder_in_place_of_the_checkpoint(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.checkpoint").mkdir()
    assert main(quick_fit(simulated, tmp_path / "run")) == 2
    assert "run.checkpoint cannot be written: it is a folder; move it." in capsys.readouterr().err


def test_a_read_only_run_is_refused_at_once(simulated: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    assert main(quick_fit(simulated, output)) == 0
    output.chmod(0o555)
    try:
        done = run_one(*quick_fit(simulated, output, "--overwrite"), rights=False)
    finally:
        output.chmod(0o755)
    assert done.returncode == 2
    assert "run is write-protected; choose another name or change its permissions" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "nothing hidden"


def test_bytes_that_are_no_text_in_a_name(simulated: Path, tmp_path: Path) -> None:
    """A file name of another encoding is kept and shown with escapes."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    for side in ("left", "right"):
        content = (simulated / f"synthetic_{side}.pgm").read_bytes()
        name = os.fsdecode(b"caf\xe9_" + side.encode() + b".pgm")
        (folder / name).write_bytes(content)
    lens = simulated / "synthetic.dpcal"
    words = ["fit", folder, "--calibration", lens, "-o", folder / "run", "--preset", "preview"]
    done = run_one(*words, "--layers", 4)
    assert done.returncode == 0, done.stderr
    assert "caf\\udce9" in done.stdout
    assert (folder / "run" / "run.yaml").is_file()
    assert json.loads(run_one("info", folder, "--json").stdout)["name"] == "caf\udce9"
