"""Who is asked how to read a capture, and what is remembered."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication, QCheckBox, QDialogButtonBox

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.viewer import reading_dialog
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.arrival import running
from napari_dpdeblur.viewer.reading_dialog import Reading, ReadingDialog, preselected
from napari_dpdeblur.viewer.shared.remembered import remember

PLUGIN = "napari-dpdeblur"


@pytest.fixture
def write_pair(tmp_path):
    """Writes l.png and r.png of one texture, 16-bit grey, with values up to ``high``."""

    def write(high: int, folder: str = "scene"):
        random = np.random.default_rng(1).uniform(0, 1, (48, 73)).astype(np.float32)
        texture = cv2.GaussianBlur(random, (0, 0), 2)
        texture = ((texture - texture.min()) / np.ptp(texture) * high).astype(np.uint16)
        (tmp_path / folder).mkdir()
        paths = [tmp_path / folder / "l.png", tmp_path / folder / "r.png"]
        for path, view in zip(paths, (texture[:, 1:], texture[:, :-1]), strict=True):
            cv2.imencode(".png", view)[1].tofile(path)
        return paths

    return write


def test_the_default_is_what_the_values_suggest(write_pair, qapp):
    full, twelve_bits = open_capture(*write_pair(65535)), open_capture(*write_pair(4095, "raw"))
    assert preselected(full) == Reading("srgb", 0, 65535)
    assert preselected(twelve_bits) == Reading("linear", 0, 4095)


def test_the_last_choice_is_preselected_for_files_of_this_kind(write_pair, qapp):
    capture = open_capture(*write_pair(65535))
    stored = {"encoding": "linear", "black": 64.0, "white": 65000.0, "orientation": "transposed"}
    remember("open", {"16-bit greyscale PNG": stored})
    assert preselected(capture) == Reading("linear", 64, 65000, "transposed")
    for damage in ({"encoding": "gamma"}, {"black": "x"}, {"white": 0}, {"colour": 1}, 7):
        remember("open", {"16-bit greyscale PNG": damage})
        assert preselected(capture) == Reading("srgb", 0, 65535)


def test_the_dialog_shows_and_returns_a_reading(qtbot, write_pair):
    capture = open_capture(*write_pair(4095))
    reading = Reading("linear", 64.0, 4095.0, "transposed")
    dialog = ReadingDialog(capture, reading)
    qtbot.addWidget(dialog)
    assert dialog.reading == reading
    dialog._white.setValue(10)
    ok = dialog._buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert not ok.isEnabled()
    assert ok.toolTip() == "The black level must be below the white level."
    dialog._white.setValue(4000)
    assert ok.isEnabled()
    read = dialog.reading.applied(capture)
    assert (read.encoding, read.black, read.white, read.notes) == ("linear", 64, 4000, ())
    assert read.shape == (2, 1, 72, 48)


def test_a_script_is_never_asked(viewer, write_pair, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a dialog was opened")

    monkeypatch.setattr(reading_dialog.ReadingDialog, "exec", refuse)
    viewer.open(str(write_pair(4095)[0]), plugin=PLUGIN)
    (capture,) = queries.captures(viewer).values()
    assert (capture.encoding, capture.white) == ("srgb", 65535)


def _open_as_user(viewer, qtbot, path, answer) -> int:
    """Open a file from the event loop, as a drop on the window does; returns how often it asked."""
    asked = []
    finished = []

    def respond():
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, ReadingDialog) and dialog not in asked:
            asked.append(dialog)
            answer(dialog)

    def open_file():
        viewer.open(str(path), plugin=PLUGIN)
        finished.append(True)

    looking = QTimer()
    looking.timeout.connect(respond)
    looking.start(20)
    QTimer.singleShot(0, open_file)
    qtbot.waitUntil(lambda: bool(finished) and not running(), timeout=20_000)
    looking.stop()  # or it would answer the next dialog, too
    return len(asked)


def _accept_silently(dialog):
    dialog.findChild(QCheckBox).setChecked(True)
    dialog.accept()


def test_a_user_is_asked_once_for_both_files(viewer, qtbot, write_pair):
    paths = write_pair(4095)
    assert _open_as_user(viewer, qtbot, paths[0], lambda dialog: dialog.accept()) == 1
    assert _open_as_user(viewer, qtbot, paths[1], lambda dialog: dialog.accept()) == 0
    (capture,) = queries.captures(viewer).values()
    assert (capture.encoding, capture.white) == ("linear", 4095)


def test_a_user_can_choose_not_to_be_asked_again(viewer, qtbot, write_pair):
    assert _open_as_user(viewer, qtbot, write_pair(4095)[0], _accept_silently) == 1
    darker = write_pair(900, "darker")[0].parent
    assert _open_as_user(viewer, qtbot, darker, _accept_silently) == 0
    captures = queries.captures(viewer)
    assert {capture.white for capture in captures.values()} == {4095}
    brighter = write_pair(65535, "brighter")[0].parent
    assert _open_as_user(viewer, qtbot, brighter, _accept_silently) == 1


def test_cancelling_opens_nothing(viewer, qtbot, write_pair):
    folder = write_pair(4095)[0].parent
    assert _open_as_user(viewer, qtbot, folder, lambda dialog: dialog.reject()) == 1
    assert len(viewer.layers) == 0
