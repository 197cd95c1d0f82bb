"""Tour: the way through the plugin in a real window, by its buttons, as the tutorial says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QWidget
from window_robot import WindowRobot

from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, DEFOCUS_MAP
from napari_dpdeblur.viewer.open.arrival import running

PLUGIN, NAME = "napari-dpdeblur", "Dual-pixel deblur"
SCREEN_PX = (1366, 768)
GROUP, CAMERA = "synthetic", "demo phone"
OPEN, CALIBRATE, FIT, INSPECT = "Open", "Calibrate", "Fit", "Inspect"
LAYER_STEPS = 3
MARGIN = 0.1  # of the range of the focus, that near and far keep from its ends


class Tour(WindowRobot):
    """The way through the plugin in one window; ``shots``: the folder of the pictures, or None."""

    def __init__(
        self, viewer: Any, work: Path, shots: Path | None = None, group: str = GROUP
    ) -> None:
        self.viewer = viewer
        self.work = work
        self.shots = shots
        self.group = group
        self.frames: list[Image.Image] = []
        window = viewer.window._qt_window
        window.setGeometry(0, 0, *SCREEN_PX)
        self.settle()
        self.dock = self.open_dock()

    def open_dock(self) -> Any:
        """Plugins > Dual-pixel deblur > Dual-pixel deblur."""
        try:
            self.choose_from_menu("Plugins", NAME, NAME)
        except LookupError:  # napari 0.5 empties the menus when another window is closed
            self.viewer.window.add_plugin_dock_widget(PLUGIN, NAME)
        window = self.viewer.window._qt_window
        self.until(lambda: window.findChild(QWidget, "deblur_dock") is not None, 30)
        self.settle(0.3)
        return window.findChild(QWidget, "deblur_dock")

    def turn_to(self, name: str) -> Any:
        """Click a tab of the dock; its panel."""
        self.turn_page(self.dock.tabs.tabBar(), name)
        return self.dock.tab(name)

    def go_on(self) -> Any:
        """Press the button to the next step; its panel."""
        self.click(self.dock, "next")
        self.settle(0.3)
        return self.dock.tab(self.dock.current)

    def open_sample(self) -> None:
        """Open > Samples: the synthetic scene."""
        panel = self.turn_to(OPEN)
        self.shot("01_open")
        self.click(panel, "open_samples")
        self.settle(3.0)  # until the thumbnail is there
        picker = panel.findChild(QWidget, "sample_picker")
        self.shot("02_samples", picker)
        self.pick(picker.list, 0)
        open_button = picker.buttons.button(picker.buttons.StandardButton.Open)
        QTest.mouseClick(open_button, Qt.MouseButton.LeftButton)
        self.until(lambda: self.is_shown(f"{self.group} left") and not running(), 120)
        self.settle(0.8)
        self.shot("03_sample")
        self.animate()

    def open_folder(self, folder: Path, row: int) -> None:
        """Open > Folder: a list of captures, of which one is picked."""
        panel = self.turn_to(OPEN)
        with self.answering(getExistingDirectory=str(folder)):
            self.click(panel, "open_folder")
        self.until(lambda: panel.list.count() > row, 60)
        self.settle(0.8)
        self.shot("15_list")
        self.pick(panel.list, row)
        self.until(lambda: "is open" in panel.status.text() and not running(), 60)
        self.settle(0.5)
        self.shot("15_picked")

    def choose_calibration(self) -> str:
        """The next step: a calibration beside the capture, by a click; the verdict on it."""
        panel = self.go_on()
        self.until(lambda: panel.choose.list.count() > 0, 30)
        self.pick(panel.choose.list, 0)
        self.until(lambda: panel.verdict.isVisible() and self.is_calm(panel), 60)
        self.settle(0.5)
        self.shot("04_calibration")
        return str(panel.verdict.text())

    def calibrate(self, shoot: Path, settings: dict[str, int], timeout_s: float = 120) -> str:
        """Show the target, choose the captures in a folder, run, save; return the verdict."""
        widget = self.turn_to(CALIBRATE)
        widget.show_way("Measure")
        self.settle()
        self.show_target(widget)
        with self.answering(getOpenFileName=(str(shoot / "target.json"), "")):
            self.click(widget, "load_target")
        for name in ("discs", "white", "black", "sheets"):
            with self.answering(getExistingDirectory=str(shoot / name)):
                self.click(widget, f"folder_{name}")
        self.child(widget, "camera").setText(CAMERA)
        for name, value in settings.items():
            self.child(widget, f"setting_{name}").setValue(value)
        self.until(lambda: widget.groups["sheets"].check.text() != "", 60)
        self.settle()
        self.shot("12_calibrate")
        self.click(widget, "run")
        self.until(lambda: queries.layer_of(self.viewer, CAMERA, "target") is not None, timeout_s)
        self.settle(0.4)
        self.shot("13_discs")
        self.until(
            lambda: self.is_idle(widget) and CAMERA in queries.calibrations(self.viewer), timeout_s
        )
        self.show_only(f"{CAMERA} kernels")
        self.shot("14_kernels")
        with self.answering(getSaveFileName=(str(self.work / "phone.dpcal"), "")):
            self.click(widget, "save")
        self.until(lambda: (self.work / "phone.dpcal").exists(), 30)
        return str(widget.verdict.text())

    def show_target(self, widget: QWidget) -> None:
        """Fill the screen with the pattern, step through its frames, come back."""
        self.click(widget, "show_target")
        self.until(lambda: widget.target.slides is not None, 60)
        self.settle()
        self.shot("11_target", widget.target.slides)
        QTest.keyClick(widget.target.slides, Qt.Key.Key_Escape)
        self.until(lambda: widget.target.slides is None, 10)

    def fit(self, preset: str, timeout_s: float = 300) -> Any:
        """Run the fit of the chosen capture, wait for the result."""
        widget = self.turn_to(FIT)
        self.viewer.reset_view()
        self.choose(self.child(widget, "setting_preset"), preset)
        self.shot("05_fit")
        self.click(widget, "run")
        # A quick fit may be over before there is time for a picture.
        self.until(
            lambda: f"{self.group} live image" in self.viewer.layers or self.is_idle(widget),
            timeout_s,
        )
        if preset == "standard":  # has losses to look at
            self.until(lambda: len(widget.plot.values().get("data", [])) > 6, timeout_s)
        self.settle(0.2)
        self.shot("06_fit_running")
        self.animate()
        self.until(
            lambda: self.is_idle(widget) and self.group in queries.results(self.viewer), timeout_s
        )
        self.settle(0.4)
        return widget

    def look(self) -> None:
        """The result, one layer after the other."""
        self.show_only(f"{self.group} left")
        self.animate(2)
        for number, kind in (("07_all_in_focus", ALL_IN_FOCUS), ("08_defocus_map", DEFOCUS_MAP)):
            layer = queries.layer_of(self.viewer, self.group, kind)
            self.show_only(layer.name)
            self.viewer.layers.selection.active = layer
            self.shot(number)
            self.animate(2)

    def inspect(self) -> Any:
        """The next step: browse the layers, refocus."""
        widget = self.go_on()
        for _ in range(LAYER_STEPS):
            self.animate()
            self.click(widget, "inspect_front")
            self.settle(0.3)
        self.shot("09_layers")
        for text in ("Rest dimmed", "All, coloured by depth"):
            self.choose(self.child(widget, "inspect_channel"), text)
            name = f"{self.group} MPI {text.lower()}"
            self.until(lambda name=name: self.is_shown(name), 60)
            self.settle(0.4)
            self.shot(f"09_layers_{text.split()[-1].lower()}")
            self.animate()
        return widget

    def refocus_near_and_far(self, widget: QWidget) -> tuple[np.ndarray, np.ndarray]:
        """Pictures with the focus on the front and on the back."""
        self.turn_page(self.child(widget, "inspect_tabs").tabBar(), "Refocus")
        self.settle(1.0)
        near = self.refocus(widget, MARGIN)
        self.shot("10_refocus_near")
        far = self.refocus(widget, 1 - MARGIN)
        self.shot("10_refocus_far")
        return near, far

    def refocus(self, widget: QWidget, share: float) -> np.ndarray:
        """Drag the focal plane to this share of its range; the picture that follows."""
        before = self.canvas()
        slider = self.child(widget, "inspect_focus").slider
        low, high = float(slider.minimum()), float(slider.maximum())
        self.drag(slider, low + share * (high - low))
        status = self.child(widget, "inspect_status")
        self.until(lambda: not np.array_equal(self.canvas(), before), 30)
        self.until(lambda: status.text().startswith("Full size"), 60)
        self.settle(0.4)
        return self.canvas()

    def rock(self, widget: QWidget, times: int = 3) -> list[np.ndarray]:
        """Press Rock and watch; the different pictures that were seen."""
        self.click(widget, "inspect_rock")
        seen = [self.canvas()]
        for _ in range(times - 1):
            self.until(lambda: not np.array_equal(self.canvas(), seen[-1]), 30)
            seen.append(self.canvas())
        self.shot("17_rock")
        self.click(widget, "inspect_rock")
        self.settle(0.5)
        return seen

    def depth(self, widget: QWidget) -> None:
        """The layers in space."""
        self.turn_page(self.child(widget, "inspect_tabs").tabBar(), "Depth")
        self.click(widget, "inspect_3d")
        self.until(lambda: self.viewer.dims.ndisplay == 3 and self.viewer.layers[-1].visible, 60)
        self.settle(1.0)
        self.shot("11_depth")
        self.click(widget, "inspect_3d")
        self.settle(0.5)

    def compare(self, widget: QWidget) -> tuple[np.ndarray, np.ndarray]:
        """Before and after by click, by the slider and side by side; the first two pictures."""
        self.show_only(f"{self.group} all-in-focus")
        after = self.canvas()
        self.click(widget, "show_before")
        self.until(lambda: self.is_shown(f"{self.group} before"), 30)
        self.settle(0.4)
        before = self.canvas()
        self.drag(self.child(widget, "swipe"), 50)
        self.settle(0.4)
        self.shot("16_swipe")
        self.animate()
        self.click(widget, "side_by_side")
        self.settle(0.6)
        self.shot("16_side_by_side")
        self.click(widget, "side_by_side")
        self.click(widget, "show_after")
        self.settle(0.4)
        return before, after

    def save(self) -> Path:
        """Save the result as a run folder, by the button below the tab."""
        folder = self.work / f"{self.group}.dprun"
        with self.answering(getSaveFileName=(str(folder), "")):
            self.click(self.dock, "save_result")
        self.until(lambda: (folder / "run.yaml").exists() and self.dock.save_button.isEnabled(), 60)
        return folder

    def reopen(self, folder: Path) -> None:
        """Close everything, and open the run folder in the Open tab of a new dock."""
        self.viewer.window.remove_dock_widget("all")
        self.viewer.layers.clear()
        self.settle()
        self.dock = self.open_dock()
        panel = self.turn_to(OPEN)
        with self.answering(getExistingDirectory=str(folder)):
            self.click(panel, "open_folder")
        self.until(lambda: self.group in queries.results(self.viewer) and not running(), 60)
        self.settle(0.8)
        self.viewer.reset_view()
        self.settle()
        self.shot("18_reopened")
