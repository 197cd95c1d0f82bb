"""Make the pictures of the tutorial from the real window, by doing what the tutorial says.

    xvfb-run -s "-screen 0 1366x768x24" python docs/make_screenshots.py
    QT_SCALE_FACTOR=2 xvfb-run -s "-screen 0 2732x1536x24" \
        python docs/make_screenshots.py --only fit

`Tour` clicks the real buttons. The tests take the same tour with quicker settings, so that the
tutorial cannot describe what is not there.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QWidget

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_robot import WindowRobot

from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, DEFOCUS_MAP
from napari_dpdeblur.viewer.open.arrival import running

PLUGIN, NAME = "napari-dpdeblur", "Dual-pixel deblur"
FOLDER = Path(__file__).resolve().parent / "screenshots"
SCREEN_PX = (1366, 768)
GROUP, CAMERA = "synthetic", "demo phone"
OPEN, CALIBRATE, FIT, INSPECT = "Open", "Calibrate", "Fit", "Inspect"
ANIMATION_COLORS, REFOCUS_FRAMES = 96, 12


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
        _, dock = self.viewer.window.add_plugin_dock_widget(PLUGIN, NAME)
        self.settle(0.3)
        return dock

    def turn_to(self, name: str) -> Any:
        """Click a tab of the dock; its panel."""
        bar = self.dock.tabs.tabBar()
        texts = [bar.tabText(index) for index in range(bar.count())]
        place = bar.tabRect(texts.index(name)).center()
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)
        self.settle(0.3)
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
        self.settle(0.5)
        picker = panel.findChild(QWidget, "sample_picker")
        self.shot("02_samples", picker)
        self.pick(picker.list, 0)
        open_button = picker.buttons.button(picker.buttons.StandardButton.Open)
        QTest.mouseClick(open_button, Qt.MouseButton.LeftButton)
        self.until(lambda: self.is_shown(f"{self.group} left") and not running(), 120)
        self.settle(0.8)
        self.shot("03_sample")

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
        self.shot("16_picked")

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
        self.child(widget, "setting_preset").setCurrentText(preset)
        self.settle(0.4)
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
        tabs = self.child(widget, "inspect_tabs")
        for _ in range(3):
            self.click(widget, "inspect_front")
        self.settle()
        self.shot("09_layers")
        tabs.setCurrentIndex(1)
        self.settle(1.0)
        return widget

    def refocus_near_and_far(self, widget: QWidget) -> tuple[np.ndarray, np.ndarray]:
        """Pictures with the focus on the front and on the back."""
        near = self.refocus(widget, 0.2)
        self.shot("10_refocus_near")
        far = self.refocus(widget, 1.2)
        self.shot("10_refocus_far")
        return near, far

    def refocus(self, widget: QWidget, focus: float) -> np.ndarray:
        """Move the focal plane; the picture in the canvas, when it has followed."""
        before = self.canvas()
        slider = self.child(widget, "inspect_focus")
        slider.setValue(focus)
        self.until(lambda: not np.array_equal(self.canvas(), before), 30)
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
        self.child(widget, "inspect_tabs").setCurrentIndex(2)
        self.settle()
        self.click(widget, "inspect_3d")
        self.until(lambda: self.viewer.dims.ndisplay == 3 and self.viewer.layers[-1].visible, 60)
        self.settle(1.0)
        self.shot("11_depth")
        self.click(widget, "inspect_3d")
        self.settle(0.5)

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


def simulate_pairs(folder: Path, size: tuple[int, int] = (288, 384)) -> Path:
    """Three captures of a simulated phone in one folder, with its calibration beside them."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.capture.pgm import write_pgm_pair
    from napari_dpdeblur.datasets.synthetic.simulation import simulate

    folder.mkdir(parents=True)
    for number in range(3):
        simulation = simulate(*size, seed=number)
        capture = simulation.capture
        left, right = capture.raw[:, 0]
        write_pgm_pair(folder, f"2026_0{number + 1}", left, right, capture.pixel_aspect)
    save_calibration(simulation.calibration, folder / "phone.dpcal")
    return folder


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
    parser.add_argument("--only", choices=["fit"], help="one picture of the Fit tab alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for name in ("CONFIG", "CACHE"):
            os.environ[f"DPDEBLUR_{name}"] = work
        if arguments.only:
            take_one_picture(Path(work), arguments.output)
        else:
            take_tour(Path(work), arguments.output, arguments.preset)


def take_tour(work: Path, shots: Path, preset: str) -> None:
    """All steps in one window."""
    import napari

    viewer = napari.Viewer()
    tour = Tour(viewer, work, shots)
    tour.open_sample()
    tour.choose_calibration()
    tour.fit(preset)
    tour.look()
    widget = tour.inspect()
    tour.refocus_near_and_far(widget)
    write_animation(tour, widget, shots / "refocus.gif")
    tour.depth(widget)
    tour.reopen(tour.save())
    viewer.layers.clear()
    tour.calibrate(work / "shoot", simulate_captures(work / "shoot"))
    viewer.layers.clear()
    tour.open_folder(simulate_pairs(work / "captures"), 1)
    viewer.close()


def take_one_picture(work: Path, shots: Path) -> None:
    """The Fit tab with the sample, for another scale of the screen."""
    import napari

    viewer = napari.Viewer()
    tour = Tour(viewer, work)
    tour.open_sample()
    tour.turn_to(FIT)
    tour.settle(2.0)
    tour.shots = shots
    tour.shot("19_twice_the_scale")
    viewer.close()


if __name__ == "__main__":
    main()
