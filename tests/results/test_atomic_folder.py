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
