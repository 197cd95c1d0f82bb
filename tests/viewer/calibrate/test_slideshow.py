"""The target full screen."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication, QImage

from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.target.slides import frame_pictures
from napari_dpdeblur.viewer.calibrate.slideshow import (
    SlideShow,
    screen_diagonal_inch,
    screen_size_px,
)


@pytest.fixture
def target(qapp):
    return Target.for_screen(*screen_size_px(QGuiApplication.primaryScreen()), 40.0)


@pytest.fixture
def slides(display, qtbot, target):
    shown = SlideShow(frame_pictures(target))
    shown.show_on(QGuiApplication.primaryScreen())
    qtbot.waitExposed(shown)
    yield shown
    with suppress(RuntimeError):  # one that a test has closed is gone
        shown.close()


def pixels(slides):
    image = slides.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    bits = image.constBits()
    if hasattr(bits, "setsize"):  # PyQt needs to be told
        bits.setsize(image.sizeInBytes())
    rows = np.frombuffer(bits, np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width()].copy()


def test_the_screen_shows_the_discs_pixel_by_pixel(slides, target):
    assert slides.isFullScreen()
    np.testing.assert_array_equal(pixels(slides), target.picture())


def test_keys_step_through_the_frames(slides, qtbot):
    assert slides.frame == "discs"
    qtbot.keyClick(slides, Qt.Key.Key_Space)
    assert slides.frame == "white"
    assert (pixels(slides) == 255).all()
    qtbot.keyClick(slides, Qt.Key.Key_Right)
    assert slides.frame == "black"
    assert (pixels(slides) == 0).all()
    qtbot.keyClick(slides, Qt.Key.Key_Right)
    assert slides.frame == "discs"
    qtbot.keyClick(slides, Qt.Key.Key_Left)
    assert slides.frame == "black"
    qtbot.mouseClick(slides, Qt.MouseButton.LeftButton)
    assert slides.frame == "discs"


def test_escape_closes(slides, qtbot):
    with qtbot.waitSignal(slides.closed):
        qtbot.keyClick(slides, Qt.Key.Key_Escape)


def test_a_screen_that_says_nothing_has_no_diagonal():
    class Silent:
        def physicalSize(self):
            from qtpy.QtCore import QSizeF

            return QSizeF(0, 0)

    assert screen_diagonal_inch(Silent()) == 0
