"""Choice of the calibration target: for a screen of this computer, or from a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from napari.qt.threading import create_worker
from napari.utils.notifications import show_error, show_info
from qtpy.QtCore import Signal
from qtpy.QtGui import QGuiApplication, QScreen
from qtpy.QtWidgets import QDoubleSpinBox, QFileDialog, QFormLayout, QWidget

from napari_dpdeblur.calibration.target.pattern import (
    Target,
    load_target,
    pitch_for_screen,
    save_target,
)
from napari_dpdeblur.calibration.target.slides import frame_pictures, write_target
from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.viewer.calibrate.slideshow import (
    HELP,
    SlideShow,
    screen_diagonal_inch,
    screen_size_px,
)
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import (
    choice,
    ignore_wheel,
    in_row,
    push_button,
    text_label,
)

KEPT_FILE = "napari-dpdeblur-target.json"
DEFAULT_INCH, DEFAULT_CM = 14.0, 45.0


class TargetChoice(QWidget):
    """Shows the target in full screen and keeps the one that the captures show.

    The target that was shown last is kept, because the captures come from the camera later.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.target: Target | None = None
        self.slides: SlideShow | None = None
        self.screens = choice("screen", "Screen that will show the target")
        for screen in QGuiApplication.screens():
            width, height = screen_size_px(screen)
            self.screens.addItem(f"{screen.name()}, {width} x {height} px", screen)
        known_inch = screen_diagonal_inch(self._screen()) or DEFAULT_INCH
        self.diagonal = _length("diagonal", "Diagonal of the screen", known_inch, " in", 5, 120)
        self.distance = _length(
            "distance", "Distance from the camera to the screen", DEFAULT_CM, " cm", 5, 500
        )
        self.summary = text_label("target_summary", "Calibration target in the captures")
        self._lay_out()
        self._restore()

    def show_full_screen(self) -> None:
        """Compute the pattern in the background, then fill the screen with it."""
        try:
            target = self.target_for_screen()
        except DpDeblurError as error:
            show_error(str(error))
            return
        self._use(target)
        screen = self._screen()
        maker = create_worker(frame_pictures, target)
        maker.returned.connect(lambda frames: self._open(frames, screen))
        maker.start()

    def target_for_screen(self) -> Target:
        """The target for the chosen screen at the given distance."""
        size = screen_size_px(self._screen())
        pitch = pitch_for_screen(*size, self.diagonal.value(), self.distance.value())
        return Target.for_screen(*size, pitch)

    def _open(self, frames: dict[str, Any], screen: QScreen) -> None:
        self.slides = SlideShow(frames)
        self.slides.closed.connect(self._forget_slides)
        self.slides.show_on(screen)

    def _forget_slides(self) -> None:
        self.slides = None

    def _use(self, target: Target) -> None:
        self.target = target
        width, height = target.screen_px
        self.summary.setText(
            f"Target: {target.cols} x {target.rows} discs on {width} x {height} px."
        )
        with suppress(DpDeblurError):  # it is only for the next session
            save_target(target, _kept_file())
        self.changed.emit()

    def _restore(self) -> None:
        try:
            self._use(load_target(_kept_file()))
        except DpDeblurError:
            self.summary.setText("Show the target, or load the target.json of another screen.")

    def _load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load a target", "", "Targets (*.json)")
        if path:
            self.load(Path(path))

    def load(self, path: Path) -> None:
        """Use the target of a file."""
        try:
            self._use(load_target(path))
        except DpDeblurError as error:
            show_error(str(error))

    def _save(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Save the target to")
        if folder:
            self.save(Path(folder))

    def save(self, folder: Path) -> None:
        """Write the target for another computer: pictures, web page and target.json."""
        try:
            target = self.target_for_screen()
        except DpDeblurError as error:
            show_error(str(error))
            return
        writer = create_worker(_written, target, folder)
        writer.returned.connect(lambda problem: _report_saved(folder, problem))
        writer.start()

    def _screen(self) -> QScreen:
        return self.screens.currentData() or QGuiApplication.primaryScreen()

    def _lay_out(self) -> None:
        show = push_button("Show target", "show_target", HELP, self.show_full_screen)
        load = push_button("Load target…", "load_target", "Load a target.json file", self._load)
        save = push_button(
            "Save target…", "save_target", "Save the target as images and a web page", self._save
        )
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addRow("Screen", self.screens)
        layout.addRow("Size, distance", in_row(self.diagonal, self.distance))
        layout.addRow(in_row(show, load, save))
        layout.addRow(self.summary)


def _kept_file() -> Path:
    return remembered.state_file().with_name(KEPT_FILE)


def _written(target: Target, folder: Path) -> str | None:
    """The error message or None; runs in a thread."""
    try:
        write_target(target, folder)
    except DpDeblurError as error:
        return str(error)
    return None


def _report_saved(folder: Path, problem: str | None) -> None:
    if problem is None:
        show_info(f"Target saved to {folder}.")
    else:
        show_error(problem)


def _length(
    name: str, tip: str, value: float, unit: str, lowest: float, highest: float
) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setObjectName(name)
    box.setToolTip(tip)
    box.setRange(lowest, highest)
    box.setDecimals(1)
    box.setSuffix(unit)
    box.setValue(value)
    ignore_wheel(box)
    return box
