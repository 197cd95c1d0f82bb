"""The index comes back as it was written and leads nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from napari_dpdeblur.batch import Entry, Index, read_index
from napari_dpdeblur.batch.index import INDEX_FILE, write_index
from napari_dpdeblur.errors import ResultError

KEY = "0123456789abcdef" * 4


def entry(**changes: object) -> Entry:
    values = {"key": KEY, "name": "a", "files": ("left", "right"), "folder": "a", **changes}
    return Entry.model_validate(values)


def test_round_trip(tmp_path: Path) -> None:
    assert read_index(tmp_path) == Index()
    index = Index(captures=(entry(), entry(folder="b").after("failed", "too dark", 1.5)))
    write_index(tmp_path, index)
    assert read_index(tmp_path) == index
    assert (index.count("waiting"), index.count("done"), index.count("failed")) == (1, 0, 1)
    assert [path.name for path in tmp_path.iterdir()] == [INDEX_FILE]


@pytest.mark.parametrize("folder", ["", ".", "..", "../secret", "a/b", "a\\b", "a\0b"])
def test_a_folder_elsewhere_is_refused(folder: str) -> None:
    with pytest.raises(ValidationError, match="a run folder must be beside the index"):
        entry(folder=folder)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"captures": [{"key": 1}]}', "\0"])
def test_a_damaged_index_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX_FILE).write_text(text)
    with pytest.raises(ResultError, match=r"index\.json cannot be read; delete it \(finished"):
        read_index(tmp_path)


def test_an_index_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / INDEX_FILE).write_text(json.dumps({"version": 2}))
    with pytest.raises(ResultError, match=r"index\.json cannot be read"):
        read_index(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"index\.json cannot be written: No such file"):
        write_index(tmp_path / "none", Index())
