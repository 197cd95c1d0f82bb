"""Remembered settings."""

from __future__ import annotations

import json
import os

import pytest

from napari_dpdeblur.viewer import state

DEFAULTS = {"preset": "standard", "layers": 12, "front_scale": None, "smooth_image": 0.03}


def test_nothing_is_remembered_at_first():
    assert state.remembered("fit") == {}
    assert state.remembered("fit", DEFAULTS) == DEFAULTS


def test_sections_and_names_are_kept_apart():
    state.remember("fit", {"preset": "preview", "layers": 8})
    state.remember("inspect", {"aperture": 1.5})
    state.remember("fit", {"layers": 10})
    assert state.remembered("fit") == {"preset": "preview", "layers": 10}
    assert state.remembered("inspect") == {"aperture": 1.5}


def test_values_that_do_not_fit_are_left_out():
    kept = {"preset": 3, "layers": "12", "smooth_image": 1, "front_scale": 0.2, "evil": "x"}
    state.remember("fit", kept)
    expected = {"preset": "standard", "layers": 12, "smooth_image": 1, "front_scale": 0.2}
    assert state.remembered("fit", DEFAULTS) == expected


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"fit": 3}', b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000]
)
def test_damaged_content_is_passed_over_and_replaced(content):
    state.state_file().write_bytes(content)
    assert state.remembered("fit", DEFAULTS) == DEFAULTS
    state.remember("fit", {"layers": 7})
    assert state.remembered("fit") == {"layers": 7}
    state.flush()
    assert json.loads(state.state_file().read_text()) == {"fit": {"layers": 7}}
    assert state.remembered("fit") == {"layers": 7}


def test_the_newest_of_many_changes_is_kept():
    for layers in range(50):
        state.remember("fit", {"layers": layers, f"name {layers}": True})
    state.flush()
    kept = json.loads(state.state_file().read_text())["fit"]
    assert kept["layers"] == 49
    assert len(kept) == 51


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("DPDEBLUR_CONFIG", str(blocked))
    state.remember("fit", {"layers": 7})
    state.flush()
    assert state.remembered("fit") == {}


def test_values_that_are_not_plain_change_nothing():
    state.remember("fit", {"layers": 7})
    state.remember("fit", {"layers": object()})
    assert state.remembered("fit") == {"layers": 7}


def test_a_failed_write_leaves_no_litter(monkeypatch):
    state.remember("fit", {"layers": 7})
    state.flush()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    state.remember("fit", {"layers": 9})
    state.flush()
    assert state.remembered("fit") == {"layers": 7}
    assert [path.name for path in state.state_file().parent.iterdir()] == ["napari-dpdeblur.json"]
