"""Where the program keeps what it could fetch or compute again."""

from __future__ import annotations

from pathlib import Path

import pooch
import pytest

from napari_dpdeblur.files.cache import user_cache


def test_the_variable_names_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    assert user_cache("pixel4") == tmp_path / "pixel4"


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_cache_is_the_users(value: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DPDEBLUR_CACHE", raising=False)
    if value is not None:
        monkeypatch.setenv("DPDEBLUR_CACHE", value)
    assert user_cache("pixel4") == Path(pooch.os_cache("napari-dpdeblur")) / "pixel4"
