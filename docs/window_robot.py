"""WindowRobot: presses the buttons of a napari window and takes pictures of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from napari._qt.dialogs.qt_notification import NapariQtNotification
from PIL import Image
from qtpy.QtCore import QPoint, Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QListWidget,
    QMenu,
    QScrollArea,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QTabBar,
    QWidget,
)

ANIMATION_PX = (640, 360)


class WindowRobot:
    """Works in one window; ``shots``: the folder of the pictures, or None."""

    viewer: Any
    shots: Path | None
    frames: list[Image.Image]

    def is_shown(self, name: str) -> bool:
        """Whether a layer is there and visible."""
        return name in self.viewer.layers and bool(self.viewer.layers[name].visible)

    def choose_from_menu(self, *texts: str) -> None:
        """Click through a menu of the window, down to the last entry."""
        menu: Any = self.viewer.window._qt_window.menuBar()
        try:
            for text in texts:
                found = [a for a in menu.actions() if a.text().replace("&", "").startswith(text)]
                if not found:
                    raise LookupError(f"no entry {text} in the menu")
                place = menu.actionGeometry(found[0]).center()
                QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=place)
                menu = found[0].menu()
                if menu is not None:  # a click on a menu that is not there yet goes nowhere
                    self.until(menu.isVisible, 10)
                self.settle(0.3)
        finally:
            for popup in QApplication.topLevelWidgets():
                if isinstance(popup, QMenu) and popup.isVisible():
                    popup.close()

    def turn_page(self, bar: QTabBar, name: str) -> None:
        """Click a tab."""
        texts = [bar.tabText(index) for index in range(bar.count())]
        place = bar.tabRect(texts.index(name)).center()
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)
        self.settle(0.3)

    def choose(self, box: QComboBox, text: str) -> None:
        """Open a list of choices and click one."""
        QTest.mouseClick(box, Qt.MouseButton.LeftButton)
        # Qt takes an earlier click for the end of the one that has opened the list.
        self.settle(1.5 * QApplication.doubleClickInterval() / 1000)
        entries = box.view()
        index = entries.model().index(box.findText(text), 0)
        entries.scrollTo(index)
        place = entries.visualRect(index).center()
        QTest.mouseClick(entries.viewport(), Qt.MouseButton.LeftButton, pos=place)
        self.settle(0.3)
        if box.currentText() != text:
            raise LookupError(f"{text} cannot be chosen from {box.objectName()}")

    def drag(self, slider: QSlider, value: float) -> None:
        """Drag the handle of a slider with the mouse to where a value lies."""
        begin, end = self._handle(slider), self._handle(slider, value)
        QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=begin)
        for share in (0.3, 0.6, 0.9, 1.0):
            QTest.mouseMove(slider, begin + (end - begin) * share)
            self.settle(0.05)
        QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=end)
        self.settle()

    def _handle(self, slider: QSlider, value: float | None = None) -> QPoint:
        """The middle of the handle, at another value if there is one."""
        option = QStyleOptionSlider()
        slider.initStyleOption(option)
        if value is not None:
            low, high = float(slider.minimum()), float(slider.maximum())
            share = (value - low) / (high - low)
            option.sliderPosition = round(
                option.minimum + share * (option.maximum - option.minimum)
            )
        place: QPoint = (
            slider.style()
            .subControlRect(
                QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
            )
            .center()
        )
        return place

    def pick(self, entries: QListWidget, row: int) -> None:
        """Click an entry of a list."""
        entries.scrollToItem(entries.item(row))
        place = entries.visualItemRect(entries.item(row)).center()
        QTest.mouseClick(entries.viewport(), Qt.MouseButton.LeftButton, pos=place)
        QApplication.processEvents()

    def child(self, widget: QWidget, name: str) -> Any:
        """The control with this object name."""
        found = widget.findChild(QWidget, name)
        if found is None:
            raise LookupError(f"{type(widget).__name__} has no control named {name}")
        return found

    def click(self, widget: QWidget, name: str) -> None:
        """Press a button with the mouse, where a user would see it."""
        button = self.child(widget, name)
        for area in widget.findChildren(QScrollArea):
            if area.isAncestorOf(button):
                area.ensureWidgetVisible(button)
        if not button.isVisible() or not button.isEnabled():
            raise LookupError(f"the button {name} cannot be pressed")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        QApplication.processEvents()

    def is_idle(self, widget: Any) -> bool:
        """Whether a panel has nothing to do."""
        return not widget.panel.worker.is_running and widget.panel.status.text().startswith("Done")

    def is_calm(self, widget: Any) -> bool:
        """Whether a panel runs nothing and adds no layers."""
        is_adding = widget.panel.status.text().startswith("Creating")
        return not widget.panel.worker.is_running and not is_adding

    def show_only(self, *names: str) -> None:
        for layer in self.viewer.layers:
            layer.visible = layer.name in names
        self.settle()

    def until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Let the window work until something is the case."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {timeout_s:g} s")
            QApplication.processEvents()
            time.sleep(0.01)

    def settle(self, seconds: float = 0.1) -> None:
        """Let the window work for a moment."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            QApplication.processEvents()
            time.sleep(0.01)

    def canvas(self) -> np.ndarray:
        """What the canvas shows: bytes (h, w, 3)."""
        return self.viewer.screenshot(canvas_only=True, flash=False)[..., :3]

    def window_picture(self) -> Image.Image:
        """What the whole window shows."""
        pixels = self.viewer.window.screenshot(flash=False, canvas_only=False)
        return Image.fromarray(np.ascontiguousarray(pixels[..., :3]))

    def shot(self, name: str, other: QWidget | None = None) -> None:
        """Keep a picture of the window, or of another one."""
        if self.shots is None:
            return
        self.shots.mkdir(parents=True, exist_ok=True)
        for message in self.viewer.window._qt_window.findChildren(NapariQtNotification):
            message.close()
        self.settle()
        path = self.shots / f"{name}.png"
        if other is not None:
            other.grab().save(str(path))
            return
        self.few_colors(self.window_picture(), 256).save(path, optimize=True)

    def few_colors(self, picture: Image.Image, count: int) -> Image.Image:
        """A picture of the window with a palette, a part of it for what is not the canvas.

        A palette for the whole picture would give nearly all to a photo in the canvas.
        """
        window = self.viewer.window._qt_window
        canvas = window.centralWidget()
        scale = picture.width / window.width()
        corner = canvas.mapTo(window, QPoint(0, 0))
        edges = [corner.x(), corner.y(), corner.x() + canvas.width(), corner.y() + canvas.height()]
        inner = picture.crop(tuple(round(scale * edge) for edge in edges))
        panels = picture.copy()
        panels.paste(panels.getpixel((1, 1)), tuple(round(scale * edge) for edge in edges))
        share = count // 5
        frequent = sorted(panels.getcolors(panels.width * panels.height) or [], reverse=True)
        palette = [value for _, color in frequent[:share] for value in color]
        rare = Image.Quantize.MAXCOVERAGE
        for part, rest, way in (
            (panels, share, rare),
            (inner, count - 2 * share, Image.Quantize.MEDIANCUT),
        ):
            found = part.quantize(rest, way, dither=Image.Dither.NONE)
            palette += (found.getpalette() or [])[: 3 * rest]
        sheet = Image.new("P", (1, 1))
        sheet.putpalette(palette)
        return picture.quantize(palette=sheet, dither=Image.Dither.NONE)

    def animate(self, repeats: int = 1) -> None:
        """Add the window to the animated picture."""
        if self.shots is not None:
            self.frames += [self.window_picture().resize(ANIMATION_PX)] * repeats

    @contextmanager
    def answering(self, **answers: Any) -> Iterator[None]:
        """Answer the file dialogs that come up meanwhile."""
        kept = {name: getattr(QFileDialog, name) for name in answers}
        for name, answer in answers.items():
            setattr(QFileDialog, name, staticmethod(lambda *_, answer=answer, **__: answer))
        try:
            yield
        finally:
            for name, method in kept.items():
                setattr(QFileDialog, name, method)
