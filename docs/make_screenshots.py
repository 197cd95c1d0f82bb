"""Make the pictures of the tutorial from the real window, by doing what the tutorial says.

    xvfb-run -s "-screen 0 1366x768x24" python docs/make_screenshots.py

`Tour` clicks the real buttons. The tests take the same tour with quicker settings, so that the
tutorial cannot describe what is not there.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from napari._qt.dialogs.qt_notification import NapariQtNotification
from PIL import Image
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QFileDialog, QScrollArea, QWidget

from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, DEFOCUS_MAP

PLUGIN = "napari-dpdeblur"
FOLDER = Path(__file__).resolve().parent / "screenshots"
SCREEN_PX = (1366, 768)
GROUP, CAMERA = "synthetic", "demo phone"
ANIMATION_PX, ANIMATION_COLORS, REFOCUS_FRAMES = (640, 360), 96, 12


class Tour:
    """The way through the plugin in one window; ``shots``: the folder of the pictures, or None."""

    def __init__(self, viewer: Any, work: Path, shots: Path | None = None) -> None:
        self.viewer = viewer
        self.work = work
        self.shots = shots
        self.frames: list[Image.Image] = []
        window = viewer.window._qt_window
        window.setGeometry(0, 0, *SCREEN_PX)
        self.settle()

    def open_sample(self) -> None:
        """File > Open Sample > Dual-pixel deblur."""
        self.viewer.open_sample(PLUGIN, "synthetic")
        self.settle()
        self.shot("01_sample")

    def calibrate(self, shoot: Path, settings: dict[str, int], timeout_s: float = 120) -> str:
        """Show the target, choose the captures in a folder, run, save; return the verdict."""
        widget = self.dock("Calibrate")
        self.show_target(widget)
        with self.answering(getOpenFileName=(str(shoot / "target.json"), "")):
            self.click(widget, "load_target")
        for name in ("discs", "white", "black", "sheets"):
            with self.answering(getExistingDirectory=str(shoot / name)):
                self.click(widget, f"folder_{name}")
        self.child(widget, "camera").setText(CAMERA)
        for name, value in settings.items():
            self.child(widget, f"setting_{name}").setValue(value)
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
        verdict = str(widget.verdict.text())
        self.undock(widget)
        return verdict

    def show_target(self, widget: QWidget) -> None:
        """Fill the screen with the pattern, step through its frames, come back."""
        self.click(widget, "show_target")
        self.until(lambda: widget.target.slides is not None, 60)
        self.settle()
        self.shot("11_target", widget.target.slides)
        QTest.keyClick(widget.target.slides, Qt.Key.Key_Escape)
        self.until(lambda: widget.target.slides is None, 10)

    def fit(self, preset: str, timeout_s: float = 300) -> Any:
        """Choose capture and calibration, run, wait for the result."""
        self.show_only(f"{GROUP} left")
        widget = self.dock("Fit")
        self.viewer.reset_view()
        self.child(widget, "setting_preset").setCurrentText(preset)
        self.settle(0.4)
        self.shot("02_fit")
        self.click(widget, "run")
        # A quick fit may be over before there is time for a picture.
        self.until(
            lambda: f"{GROUP} live image" in self.viewer.layers or self.is_idle(widget), timeout_s
        )
        if preset == "standard":  # has losses to look at
            self.until(lambda: len(widget.plot.values().get("data", [])) > 6, timeout_s)
        self.settle(0.2)
        self.shot("03_fit_running")
        self.until(
            lambda: self.is_idle(widget) and GROUP in queries.results(self.viewer), timeout_s
        )
        self.settle(0.4)
        return widget

    def look(self, widget: QWidget) -> None:
        """The result, one layer after the other."""
        self.show_only(f"{GROUP} left")
        self.animate(2)
        for number, kind in (("04_all_in_focus", ALL_IN_FOCUS), ("05_defocus_map", DEFOCUS_MAP)):
            layer = queries.layer_of(self.viewer, GROUP, kind)
            self.show_only(layer.name)
            self.viewer.layers.selection.active = layer
            self.shot(number)
            self.animate(2)
        self.undock(widget)

    def inspect(self) -> Any:
        """Browse the layers, refocus, look in 3D."""
        widget = self.dock("Inspect")
        tabs = self.child(widget, "inspect_tabs")
        for _ in range(3):
            self.click(widget, "inspect_front")
        self.settle()
        self.shot("06_layers")
        tabs.setCurrentIndex(1)
        self.settle(1.0)
        self.refocus(widget, 0.2)
        self.shot("07_refocus_near")
        self.refocus(widget, 1.2)
        self.shot("08_refocus_far")
        return widget

    def refocus(self, widget: QWidget, focus: float) -> np.ndarray:
        """Move the focal plane; the picture in the canvas, when it has followed."""
        before = self.canvas()
        slider = self.child(widget, "inspect_focus")
        slider.setValue(focus)
        self.until(lambda: not np.array_equal(self.canvas(), before), 30)
        self.settle(0.4)
        return self.canvas()

    def depth(self, widget: QWidget) -> None:
        """The layers in space."""
        self.child(widget, "inspect_tabs").setCurrentIndex(2)
        self.settle()
        self.click(widget, "inspect_3d")
        self.until(lambda: self.viewer.dims.ndisplay == 3 and self.viewer.layers[-1].visible, 60)
        self.settle(1.0)
        self.shot("09_depth")
        self.click(widget, "inspect_3d")
        self.settle(0.5)
        self.undock(widget)

    def save_and_reopen(self) -> Path:
        """Save all layers as a run folder, empty the window, open the folder."""
        folder = self.work / f"{GROUP}.dprun"
        self.viewer.layers.save(str(folder), plugin=PLUGIN)
        self.viewer.layers.clear()
        self.viewer.open(str(folder), plugin=PLUGIN)
        self.viewer.reset_view()
        self.settle()
        self.shot("10_reopened")
        return folder

    def dock(self, name: str) -> Any:
        """Open a panel of the plugin, as its entry in the menu does."""
        _, widget = self.viewer.window.add_plugin_dock_widget(PLUGIN, name)
        self.settle(0.3)
        return widget

    def undock(self, widget: QWidget) -> None:
        self.viewer.window.remove_dock_widget(widget)
        self.settle()

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
        colors = self.window_picture().quantize(
            256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        colors.save(path, optimize=True)

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


def simulate_captures(folder: Path) -> dict[str, int]:
    """What a user would photograph for a calibration, of a small camera; settings that suit it."""
    from napari_dpdeblur.calibration.target.pattern import Target
    from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
    from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
    from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    lens = dataclasses.replace(synthetic_calibration(384, 480, rows=2, cols=3), kernels=kernels)
    target = Target.for_screen(520, 420, 32.0)
    pose = Pose(rotation_deg=3.0, tilt_deg=(3.0, -2.0), distortion=-0.02)
    write_shoot(simulate_shoot(target, lens, pose, burst=1, sheets=1), target, folder)
    return {"rows": 2, "cols": 3, "kernel_px": 23}


def write_animation(tour: Tour, widget: QWidget, path: Path) -> None:
    """The capture, the sharp picture, the map, and the focus going through the scene."""
    for focus in np.linspace(0.1, 1.4, REFOCUS_FRAMES):
        tour.refocus(widget, float(focus))
        tour.animate()
    frames = [frame.quantize(ANIMATION_COLORS, dither=Image.Dither.NONE) for frame in tour.frames]
    times_ms = [900] * (len(frames) - REFOCUS_FRAMES) + [180] * REFOCUS_FRAMES
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=times_ms, loop=0, optimize=True
    )


def main() -> None:
    """Take the tour and keep the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="standard")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for name in ("CONFIG", "CACHE"):
            os.environ[f"DPDEBLUR_{name}"] = work
        take_tour(Path(work), arguments.output, arguments.preset)


def take_tour(work: Path, shots: Path, preset: str) -> None:
    """All steps in one window."""
    import napari

    viewer = napari.Viewer()
    tour = Tour(viewer, work, shots)
    tour.open_sample()
    tour.look(tour.fit(preset))
    widget = tour.inspect()
    write_animation(tour, widget, shots / "refocus.gif")
    tour.depth(widget)
    tour.save_and_reopen()
    viewer.layers.clear()
    tour.calibrate(work / "shoot", simulate_captures(work / "shoot"))
    viewer.close()


if __name__ == "__main__":
    main()
