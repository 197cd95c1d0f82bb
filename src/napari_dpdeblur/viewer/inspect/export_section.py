"""Section "Save": the refocused picture, a stack through the focus, a movie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from napari.utils.notifications import show_info
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QWidget,
)

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results.export import display_values, write_picture
from napari_dpdeblur.results.movie import refuse_existing, write_focus_stack, write_movie
from napari_dpdeblur.results.refocus.renderer import Refocuser, Shot, Superseded, preview_reduction
from napari_dpdeblur.viewer.inspect.latest_task import LatestWorker, Superseder
from napari_dpdeblur.viewer.inspect.refocus_view import Engines
from napari_dpdeblur.viewer.shared.file_names import with_suffix

PICTURES = "PNG, 16 bit (*.png);;TIFF, 16 bit (*.tif *.tiff)"
STACKS = "TIFF stack, linear (*.tif *.tiff)"
MOVIES = "MP4 movie (*.mp4);;animated GIF (*.gif)"
MOVIE_FPS = 12.0
NOTHING = "There is no refocused picture to save yet; move the focus slider first."

Progress = Callable[[int, int], None]


class ExportSection(QGroupBox):
    """Asks for a name and writes in a thread, with progress and cancel."""

    failed = Signal(str)
    saved = Signal(str)
    _progressed = Signal(int, int)

    def __init__(self, scene: Callable[[], tuple[Engines, Shot] | None], parent: QWidget) -> None:
        super().__init__("Save", parent)
        self._scene = scene
        self._worker = LatestWorker(self)
        self._worker.done.connect(self._on_done)
        self._worker.failed.connect(self._on_failed)
        self._progressed.connect(self._show_progress)
        self._build()

    def save_view(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the picture that is shown, in full size, with the tone curve of the screen."""
        engines, shot = self._wanted()
        path, white = Path(path), engines.source.white

        def work(superseded: Superseder) -> Path:
            refuse_existing(path, overwrite)
            return write_picture(path, engines.exact().render(shot, superseded), white)

        self._start(work)

    def save_stack(self, path: str | Path, overwrite: bool = False) -> None:
        """Write linear pictures with the focus from the nearest to the farthest layer."""
        engines, shot = self._wanted()
        path, shots = Path(path), focus_sweep(engines, shot, self.frames.value())

        def work(superseded: Superseder) -> Path:
            refuse_existing(path, overwrite)
            pictures = self._rendered(engines.exact(), shots, superseded)
            pairs = ((shot.focus, image) for shot, image in pictures)
            return write_focus_stack(path, pairs, overwrite, aperture=shot.aperture)

        self._start(work)

    def save_movie(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a movie of the focus going from near to far and back."""
        engines, shot = self._wanted()
        path, shots = Path(path), focus_sweep(engines, shot, self.frames.value())
        white = engines.source.white

        def work(superseded: Superseder) -> Path:
            refuse_existing(path, overwrite)
            reduction = preview_reduction(engines.source.shape)
            engine = engines.exact() if reduction == 1 else engines.quick(reduction)
            pictures = self._rendered(engine, shots, superseded)
            frames = [display_values(image, white, np.uint8) for _, image in pictures]
            return write_movie(path, frames + frames[-2:0:-1], MOVIE_FPS, overwrite)

        self._start(work)

    def stop(self) -> None:
        """Give up what is being written, and end the thread."""
        self._worker.stop()

    def _build(self) -> None:
        self.view = self._button(
            "&Picture...",
            "inspect_save_view",
            "Save the refocused picture in full size as PNG or TIFF of 16 bit.",
            lambda: self._ask("picture", PICTURES, self.save_view),
        )
        self.stack = self._button(
            "S&tack...",
            "inspect_save_stack",
            "Save pictures focused from near to far, linear, as a TIFF stack.",
            lambda: self._ask("focus stack", STACKS, self.save_stack),
        )
        self.movie = self._button(
            "&Movie...",
            "inspect_save_movie",
            "Save a movie of the focus going from near to far and back.",
            lambda: self._ask("movie", MOVIES, self.save_movie),
        )
        tip = "Stop writing; nothing is left behind."
        self.cancel = self._button("Cancel", "inspect_save_cancel", tip, self._cancel)
        self.frames = QSpinBox(objectName="inspect_frames")
        self.frames.setRange(2, 200)
        self.frames.setValue(24)
        self.frames.setToolTip("Number of pictures in a stack, and in a movie one way.")
        self.bar = QProgressBar(objectName="inspect_save_progress")
        self.bar.setToolTip("Progress of the file that is being written.")
        self._lay_out()
        self._set_running(False)

    def _button(self, text: str, name: str, tip: str, action: Callable[[], None]) -> QPushButton:
        button = QPushButton(text, self, objectName=name, toolTip=tip)
        button.clicked.connect(action)
        return button

    def _lay_out(self) -> None:
        layout = QGridLayout(self)
        for column, button in enumerate((self.view, self.stack, self.movie)):
            layout.addWidget(button, 0, column)
        layout.addWidget(QLabel("Pictures"), 1, 0, Qt.AlignmentFlag.AlignRight)
        layout.addWidget(self.frames, 1, 1)
        layout.addWidget(self.bar, 2, 0, 1, 2)
        layout.addWidget(self.cancel, 2, 2)

    def _ask(self, what: str, patterns: str, save: Callable[[str, bool], None]) -> None:
        scene = self._scene()
        name = "" if scene is None else f"{scene[0].source.group} {what}"
        path, chosen = QFileDialog.getSaveFileName(self, f"Save {what}", name, patterns)
        if not path:
            return
        try:
            if not Path(path).suffix:  # some dialogs leave it to us
                path = str(with_suffix(Path(path), chosen.split("*")[1].rstrip(") ")))
            save(path, True)  # the dialog has asked before it gave an existing name
        except ResultError as error:
            self._on_failed(None, str(error))

    def _wanted(self) -> tuple[Engines, Shot]:
        scene = self._scene()
        if scene is None:
            raise ResultError(NOTHING)
        return scene

    def _start(self, work: Callable[[Superseder], Path]) -> None:
        if self._worker.is_busy:
            raise ResultError("A file is being written; wait for it or cancel it first.")
        self._set_running(True)
        self._worker.submit(work)

    def _rendered(
        self, engine: Refocuser, shots: list[Shot], superseded: Superseder
    ) -> Iterator[tuple[Shot, np.ndarray]]:
        for number, shot in enumerate(shots):
            if superseded():
                raise Superseded
            yield shot, engine.render(shot, superseded)
            self._progressed.emit(number + 1, len(shots))

    def _show_progress(self, done: int, total: int) -> None:
        self.bar.setRange(0, total)
        self.bar.setValue(done)

    def _cancel(self) -> None:
        self._worker.drop()
        self._set_running(False)

    def _on_done(self, _: Any, path: Path) -> None:
        self._set_running(False)
        show_info(f"Saved {path}")
        self.saved.emit(str(path))

    def _on_failed(self, _: Any, text: str) -> None:
        self._set_running(False)
        self.failed.emit(text)

    def _set_running(self, running: bool) -> None:
        self.bar.setRange(0, 0 if running else 1)
        self.bar.setVisible(running)
        self.cancel.setVisible(running)
        for button in (self.view, self.stack, self.movie):
            button.setEnabled(not running)


def focus_sweep(engines: Engines, shot: Shot, count: int) -> list[Shot]:
    """The shot with its focus going from the nearest to the farthest layer in equal steps."""
    scales = engines.source.stack.defocus_scales
    focuses = np.linspace(float(np.min(scales)), float(np.max(scales)), count)
    return [Shot(float(focus), shot.aperture, shot.views) for focus in focuses]
