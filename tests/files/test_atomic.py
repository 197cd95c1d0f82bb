"""A file is complete or not there, and what killed processes leave goes away."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from napari_dpdeblur.files import atomic_file, leftovers, write_atomically


@pytest.fixture
def dead_prefix(tmp_path: Path) -> str:
    """How a process that has ended names what it writes beside `run`."""
    program = (
        "from pathlib import Path; from napari_dpdeblur.files import leftovers;"
        "print(leftovers.prefix(Path('run')), end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return done.stdout.decode()


def test_what_a_dead_process_left_is_removed(tmp_path: Path, dead_prefix: str) -> None:
    (tmp_path / f"{dead_prefix}abc").mkdir()
    (tmp_path / f"{dead_prefix}abc" / "mpi.tif").write_text("half")
    (tmp_path / f"{dead_prefix}def.run").write_text("half")
    write_atomically(tmp_path / "run", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / f"{leftovers.prefix(tmp_path / 'run')}abc"
    mine.mkdir()
    elsewhere = tmp_path / ".run.partial-otherhost.1-abc"
    elsewhere.mkdir()
    leftovers.clear(tmp_path / "run")
    assert mine.is_dir()
    assert elsewhere.is_dir(), "whether a process on another computer lives cannot be known"
    os.utime(elsewhere, (0, 0))
    leftovers.clear(tmp_path / "run")
    assert not elsewhere.exists()


def test_a_retired_folder_comes_back(tmp_path: Path) -> None:
    """After a crash between the two renames of a system that cannot exchange names."""
    folder = tmp_path / "run"
    retired = Path(tempfile.mkdtemp(prefix=leftovers.retired_prefix(folder), dir=tmp_path))
    (retired / "run").mkdir()
    (retired / "run" / "run.yaml").write_text("old")
    leftovers.restore(folder)
    assert (folder / "run.yaml").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_file_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"first", overwrite=False)
    with pytest.raises(FileExistsError, match="File exists"):
        write_atomically(path, b"second", overwrite=False)

    def too_slow() -> None:
        with atomic_file(tmp_path / "b", overwrite=False) as beside:
            beside.write_bytes(b"mine")
            (tmp_path / "b").write_bytes(b"somebody was faster")

    with pytest.raises(FileExistsError):
        too_slow()
    assert (tmp_path / "b").read_bytes() == b"somebody was faster"
    assert path.read_bytes() == b"first"
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with atomic_file(tmp_path / "a") as beside:
            beside.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "disk" / "real.txt")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "disk" / "real.txt").read_text() == "new"
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["real.txt"]


def test_a_link_that_nobody_named_is_replaced_itself(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run.checkpoint").symlink_to("precious")
    write_atomically(tmp_path / "run.checkpoint", b"state", follows_link=False)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "run.checkpoint").is_symlink()
    assert (tmp_path / "run.checkpoint").read_bytes() == b"state"


@pytest.mark.parametrize("name", ["n" * 255, "焦" * 85, "n" + "." + "s" * 253])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    """The name of the temporary sibling must not be longer."""
    write_atomically(tmp_path / name, b"new")
    assert [path.name for path in tmp_path.iterdir()] == [name]
