"""Section "Save": refocused image, focus stack and movie."""

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
from napari_dpdeblur.results.refocus.movie_frames import (
    FOCUS,
    FPS,
    FRAMES,
    PARALLAX,
    TURNTABLE,
    focus_sweep,
    movie_renders,
)
from napari_dpdeblur.results.refocus.renderer import Refocuser, Shot, Superseded
from napari_dpdeblur.viewer.inspect.refocus_view import RefocusRenderers
from napari_dpdeblur.viewer.shared.controls import choice
from napari_dpdeblur.viewer.shared.file_names import with_suffix
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

PICTURES = "16-bit PNG (*.png);;16-bit TIFF (*.tif *.tiff)"
STACKS = "Linear TIFF stack (*.tif *.tiff)"
MOVIES = "MP4 movie (*.mp4);;Animated GIF (*.gif)"
MOVIE_KINDS = {"Focus": FOCUS, "Parallax": PARALLAX, "Turntable": TURNTABLE}
NOTHING = "No refocused image to save yet; move the focus slider first."

Scene = tuple[RefocusRenderers, Shot]


class ExportSection(QGroupBox):
    """Asks for a file name and writes in a thread, with progress and cancel."""

    failed = Signal(str)
    saved = Signal(str)
    _progressed = Signal(int, int)

    def __init__(
        self, scene: Callable[[], tuple[RefocusRenderers, Shot] | None], parent: QWidget
    ) -> None:
        super().__init__("Save", parent)
        self._scene = scene
        self._worker = LatestTask(self)
        self._worker.done.connect(self._on_done)
        self._worker.failed.connect(self._on_failed)
        self._progressed.connect(self._show_progress)
        self._build()

    def save_view(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the displayed image at full size, with the tone curve of the screen."""
        renderers, shot = self._wanted()
        path, white = Path(path), renderers.source.white

        def work(superseded: IsSuperseded) -> Path:
            refuse_existing(path, overwrite)
            return write_picture(path, renderers.exact().render(shot, superseded), white)

        self._start(work)

    def save_stack(self, path: str | Path, overwrite: bool = False) -> None:
        """Write linear images focused from the nearest to the farthest layer."""
        renderers, shot = self._wanted()
        path, shots = Path(path), focus_sweep(renderers.source.stack, shot, self.frames.value())

        def work(superseded: IsSuperseded) -> Path:
            refuse_existing(path, overwrite)
            pictures = self._rendered(renderers.exact(), shots, superseded)
            pairs = ((shot.focus, image) for shot, image in pictures)
            return write_focus_stack(path, pairs, overwrite, aperture=shot.aperture)

        self._start(work)

    def save_movie(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a movie of the chosen kind, there and back."""
        renderers, shot = self._wanted()
        path, count, white = Path(path), self.frames.value(), renderers.source.white
        kind = MOVIE_KINDS[self.kind.currentText()]

        def work(superseded: IsSuperseded) -> Path:
            refuse_existing(path, overwrite)
            stack, frames = renderers.source.stack, []
            for render in movie_renders(kind, stack, renderers.aperture, shot, count):
                if superseded():
                    raise Superseded
                frames.append(display_values(render(), white, np.uint8))
                self._progressed.emit(len(frames), count)
            return write_movie(path, frames + frames[-2:0:-1], FPS, overwrite)

        self._start(work)

    def stop(self) -> None:
        """Cancel writing and stop the thread."""
        self._worker.stop()

    def _build(self) -> None:
        self.view = self._button(
            "&Image...",
            "inspect_save_view",
            "Save the refocused image at full size as 16-bit PNG or TIFF.",
            lambda: self._ask("image", PICTURES, self.save_view),
        )
        self.stack = self._button(
            "S&tack...",
            "inspect_save_stack",
            "Save linear images focused from near to far as a TIFF stack.",
            lambda: self._ask("focus stack", STACKS, self.save_stack),
        )
        self.movie = self._button(
            "&Movie...",
            "inspect_save_movie",
            "Save a movie of the kind chosen below, there and back.",
            lambda: self._ask("movie", MOVIES, self.save_movie),
        )
        tip = "Cancel; the incomplete file is removed."
        self.cancel = self._button("Cancel", "inspect_save_cancel", tip, self._cancel)
        self.frames = QSpinBox(objectName="inspect_frames")
        self.frames.setRange(2, 200)
        self.frames.setValue(FRAMES)
        self.frames.setToolTip("Number of images in a stack, and in one direction of a movie.")
        self.kind = choice(
            "inspect_movie_kind",
            "What moves in a movie: the focus from near to far, the viewpoint sideways with "
            "everything sharp, or the scene on a turntable.",
        )
        self.kind.addItems(list(MOVIE_KINDS))
        self.bar = QProgressBar(objectName="inspect_save_progress")
        self.bar.setToolTip("Progress of the file being written.")
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
            layout.setColumnStretch(column, 1)
        layout.addWidget(QLabel("Frames"), 1, 0, Qt.AlignmentFlag.AlignRight)
        layout.addWidget(self.frames, 1, 1)
        layout.addWidget(QLabel("Movie of"), 2, 0, Qt.AlignmentFlag.AlignRight)
        layout.addWidget(self.kind, 2, 1, 1, 2)
        layout.addWidget(self.bar, 3, 0, 1, 2)
        layout.addWidget(self.cancel, 3, 2)

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

    def _wanted(self) -> Scene:
        scene = self._scene()
        if scene is None:
            raise ResultError(NOTHING)
        return scene

    def _start(self, work: Callable[[IsSuperseded], Path]) -> None:
        if self._worker.is_busy:
            raise ResultError("A file is being written; wait until it is done or cancel it.")
        self._set_running(True)
        self._worker.submit(work)

    def _rendered(
        self, renderer: Refocuser, shots: list[Shot], superseded: IsSuperseded
    ) -> Iterator[tuple[Shot, np.ndarray]]:
        for number, shot in enumerate(shots):
            if superseded():
                raise Superseded
            yield shot, renderer.render(shot, superseded)
            self._progressed.emit(number + 1, len(shots))

    def _show_progress(self, done: int, total: int) -> None:
        self.bar.setRange(0, total)
        self.bar.setValue(done)

    def _cancel(self) -> None:
        self._worker.drop()
        self._set_running(False)

    def _on_done(self, _: Any, path: Path) -> None:
        self._set_running(False)
        show_info(f"Saved {path}.")
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
