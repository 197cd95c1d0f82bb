"""Remembered settings."""

from __future__ import annotations

import json
import os

import pytest

from napari_dpdeblur.viewer.shared import remembered

DEFAULTS = {"preset": "standard", "layers": 12, "front_scale": None, "smooth_image": 0.03}


def test_nothing_is_remembered_at_first():
    assert remembered.remembered("fit") == {}
    assert remembered.remembered("fit", DEFAULTS) == DEFAULTS


def test_sections_and_names_are_kept_apart():
    remembered.remember("fit", {"preset": "preview", "layers": 8})
    remembered.remember("inspect", {"aperture": 1.5})
    remembered.remember("fit", {"layers": 10})
    assert remembered.remembered("fit") == {"preset": "preview", "layers": 10}
    assert remembered.remembered("inspect") == {"aperture": 1.5}


def test_values_that_do_not_fit_are_left_out():
    kept = {"preset": 3, "layers": "12", "smooth_image": 1, "front_scale": 0.2, "evil": "x"}
    remembered.remember("fit", kept)
    expected = {"preset": "standard", "layers": 12, "smooth_image": 1, "front_scale": 0.2}
    assert remembered.remembered("fit", DEFAULTS) == expected


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"fit": 3}', b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000]
)
def test_damaged_content_is_passed_over_and_replaced(content):
    remembered.state_file().write_bytes(content)
    assert remembered.remembered("fit", DEFAULTS) == DEFAULTS
    remembered.remember("fit", {"layers": 7})
    assert remembered.remembered("fit") == {"layers": 7}
    remembered.flush()
    assert json.loads(remembered.state_file().read_text()) == {"fit": {"layers": 7}}
    assert remembered.remembered("fit") == {"layers": 7}


def test_the_newest_of_many_changes_is_kept():
    for layers in range(50):
        remembered.remember("fit", {"layers": layers, f"name {layers}": True})
    remembered.flush()
    kept = json.loads(remembered.state_file().read_text())["fit"]
    assert kept["layers"] == 49
    assert len(kept) == 51


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("DPDEBLUR_CONFIG", str(blocked))
    remembered.remember("fit", {"layers": 7})
    remembered.flush()
    assert remembered.remembered("fit") == {}


def test_values_that_are_not_plain_change_nothing():
    remembered.remember("fit", {"layers": 7})
    remembered.remember("fit", {"layers": object()})
    assert remembered.remembered("fit") == {"layers": 7}


def test_a_failed_write_leaves_no_litter(monkeypatch):
    remembered.remember("fit", {"layers": 7})
    remembered.flush()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    remembered.remember("fit", {"layers": 9})
    remembered.flush()
    assert remembered.remembered("fit") == {"layers": 7}
    assert [path.name for path in remembered.state_file().parent.iterdir()] == [
        "napari-dpdeblur.json"
    ]
