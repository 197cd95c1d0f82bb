"""Where nothing can be written is known before."""

from __future__ import annotations

from pathlib import Path

import pytest

from napari_dpdeblur.files.destination import place_problem, written_path


def test_places_that_are_possible(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("new", "new/deep/er", "folder", "folder/new", "link", "link/new", "n" * 255):
        assert place_problem(tmp_path / name) is None, name
    assert written_path(tmp_path / "link") == tmp_path / "folder"
    assert written_path(tmp_path / "link" / "new") == tmp_path / "link" / "new"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("n" * 256, "a name of 256 bytes is longer than the 255 bytes that are possible"),
        ("焦" * 86 + "/new", "a name of 258 bytes is longer than the 255 bytes that are possible"),
        ("/".join(["n" * 200] * 20), "bytes that are possible"),
        ("file/new", "file is not a folder"),
        ("dangling", "dangling is a link to nowhere, which does not exist"),
        ("dangling/new", "dangling is a link to nowhere, which does not exist"),
        ("circle", "circle is a link to circle, which does not exist"),
        ("null\0", "its name contains a null character"),
    ],
)
def test_places_that_are_impossible(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    found = place_problem(tmp_path / name)
    assert found is not None
    assert found.endswith(problem)
