"""A folder is complete or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import atomic_folder


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_with_and_without_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(atomic_folder, "exchanged", lambda *_: False)
    folder = tmp_path / "run"
    for content in ("old", "new"):
        with atomic_folder.atomic_folder(folder, True, ("a",)) as partial:
            (partial / "a").write_text(content)
    assert (folder / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_without_exchange_a_failed_rename_brings_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_folder, "exchanged", lambda *_: False)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "a").write_text("old")
    rename = Path.rename

    def fail_for_the_new_one(self: Path, target: Path) -> Path:
        if ".partial-" in self.name:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    def replace() -> None:
        with atomic_folder.atomic_folder(folder, True, ("a",)) as partial:
            (partial / "a").write_text("new")
            monkeypatch.setattr(Path, "rename", fail_for_the_new_one)

    with pytest.raises(ResultError, match="Input/output error"):
        replace()
    assert (folder / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def old_run(folder: Path, name: str = "preview.png") -> Path:
    folder.mkdir()
    (folder / name).write_text("old")
    return folder


def replace(folder: Path) -> None:
    with atomic_folder.atomic_folder(folder, True, ("preview.png", "run.yaml")) as partial:
        (partial / "run.yaml").write_text("new")


def test_a_folder_named_like_a_file_of_a_run_is_not_deleted(tmp_path: Path) -> None:
    folder = old_run(tmp_path / "run", "run.yaml")
    (folder / "preview.png").mkdir()
    (folder / "preview.png" / "precious.txt").write_text("mine")
    with pytest.raises(ResultError, match=r"contains the folder preview\.png, which is not part"):
        replace(folder)
    assert (folder / "preview.png" / "precious.txt").read_text() == "mine"
    assert (folder / "run.yaml").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_is_added_during_the_exchange_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = old_run(tmp_path / "run")
    exchange = atomic_folder.exchanged

    def late(first: Path, second: Path) -> bool:
        (folder / "precious.txt").write_text("mine")
        monkeypatch.setattr(atomic_folder, "exchanged", exchange)
        return exchange(first, second)

    monkeypatch.setattr(atomic_folder, "exchanged", late)
    with pytest.raises(ResultError, match=r"contains precious\.txt, which is not part of a run"):
        replace(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["precious.txt", "preview.png"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_linked_output_is_written_through_the_link(tmp_path: Path) -> None:
    """The link stays, and neither the old data nor a hidden folder is left behind."""
    (tmp_path / "disk").mkdir()
    folder = old_run(tmp_path / "disk" / "real")
    link = tmp_path / "run"
    link.symlink_to(folder)
    replace(link)
    assert link.is_symlink()
    assert [path.name for path in folder.iterdir()] == ["run.yaml"]
    assert [path.name for path in folder.parent.iterdir()] == ["real"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "run"]


def test_a_link_in_a_run_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    folder = old_run(tmp_path / "run", "run.yaml")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious.txt").write_text("mine")
    (folder / "preview.png").symlink_to(tmp_path / "elsewhere")
    replace(folder)
    assert (tmp_path / "elsewhere" / "precious.txt").read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["run.yaml"]


def test_the_root_of_a_file_system_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="/proc is the root of a file system"):
        atomic_folder.check_output_folder(Path("/proc"), True, ())
