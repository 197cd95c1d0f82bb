"""The menu entry that opens two files."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from napari.utils.notifications import notification_manager

from napari_dpdeblur.viewer import open_files, reader
from napari_dpdeblur.viewer.layers import queries


@pytest.fixture
def choose(viewer_model, monkeypatch):
    """Let the file dialog return these paths."""

    def chosen(*paths):
        answer = ([str(path) for path in paths], "")
        monkeypatch.setattr(open_files.QFileDialog, "getOpenFileNames", lambda *_: answer)
        monkeypatch.setattr(reader.napari, "current_viewer", lambda: viewer_model)
        before = len(notification_manager.records)
        open_files.open_two_files()
        return [str(record.message) for record in list(notification_manager.records)[before:]]

    return chosen


@pytest.fixture
def two_files(tmp_path):
    random = np.random.default_rng(1).uniform(0, 255, (48, 73, 3)).astype(np.float32)
    texture = cv2.GaussianBlur(random, (0, 0), 2).astype(np.uint8)
    paths = [tmp_path / "dusk.png", tmp_path / "dawn.png"]
    for path, view in zip(paths, (texture[:, 1:], texture[:, :-1]), strict=True):
        cv2.imencode(".png", view)[1].tofile(path)
    return paths


def test_two_files_become_the_views_of_one_capture(viewer_model, choose, two_files):
    (message,) = choose(*two_files)
    assert "dawn.png is taken as the left" in message
    (capture,) = queries.captures(viewer_model).values()
    assert capture.source.files == tuple(str(path) for path in sorted(two_files))
    assert "is already open" in choose(*two_files)[0]
    assert len(viewer_model.layers) == 2


def test_choosing_nothing_does_nothing(viewer_model, choose):
    assert choose() == []
    assert len(viewer_model.layers) == 0


def test_wrong_files_are_one_sentence(viewer_model, choose, two_files, tmp_path):
    (tmp_path / "dusk.png").write_text("a text")
    assert "dusk.png is not a PNG, JPEG or TIFF picture" in choose(*two_files)[0]
    assert len(viewer_model.layers) == 0
