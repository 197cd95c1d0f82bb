"""A slider that draws itself less often where drawing is slow."""

from __future__ import annotations

import time

import pytest

from napari_dpdeblur.viewer.inspect.slider import ValueSlider


class PaintedSlider(ValueSlider):
    """Each drawing takes some time; keeps in mind what it showed."""

    def __init__(self, drawing_s):
        super().__init__("slider", "a slider")
        self._drawing_s = drawing_s
        self.drawn = []
        self.has_rested = False
        self.setRange(0, 10)

    def paintEvent(self, event):
        super().paintEvent(event)
        time.sleep(self._drawing_s)
        self.drawn.append(self.value())

    def setUpdatesEnabled(self, enable):
        self.has_rested |= not enable
        super().setUpdatesEnabled(enable)


@pytest.fixture
def make_slider(qtbot):
    def make(drawing_s):
        slider = PaintedSlider(drawing_s)
        qtbot.addWidget(slider)
        slider.show()
        qtbot.waitUntil(lambda: bool(slider.drawn))
        return slider

    return make


def test_where_drawing_is_slow_it_rests_until_the_picture_comes(qtbot, make_slider):
    slider = make_slider(drawing_s=0.05)
    slider.setValue(1)
    qtbot.waitUntil(lambda: slider.has_rested)
    slider.setValue(2)
    assert slider.value() == 2  # the value does not rest
    slider.draw()
    assert slider.updatesEnabled()
    qtbot.waitUntil(lambda: slider.drawn[-1] == 2)


def test_the_last_value_is_drawn_without_any_picture(qtbot, make_slider):
    slider = make_slider(drawing_s=0.05)
    for value in range(1, 6):
        slider.setValue(value)
        qtbot.wait(20)
    qtbot.waitUntil(lambda: slider.drawn[-1] == 5 and slider.updatesEnabled())
