"""Section "Choose": calibrations that are open or lie near the captures, and buttons for others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QBrush, QColor
from qtpy.QtWidgets import QFileDialog, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.calibrations import (
    calibration_label,
    fitness,
    nearby_calibrations,
    path_of_choice,
)
from napari_dpdeblur.viewer.shared.controls import (
    Choice,
    in_row,
    menu_on_click,
    push_button,
    text_label,
)

FILTER = "Calibrations (*.dpcal blur_kernels_left.npy);;All files (*)"
NOT_MATCHING = "#f0625d"
MIN_LIST_PX = 28
RECORD = Qt.ItemDataRole.UserRole
SOME = "Click a calibration to use it for the open capture:"
NONE = (
    "No calibration lies near the open captures. Load one, or go on: the tab Fit then estimates "
    "the lens from the capture itself. The other tabs estimate it from several captures, or "
    "measure it with a screen."
)
NO_CAPTURE = "Open a capture first: the calibrations near it are listed here."


class ChooseSection(QWidget):
    """``chosen`` gives the path of a calibration to load, or one that is open."""

    chosen = Signal(object)

    def __init__(self, viewer: Any, parent: QWidget) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self.load_button = push_button(
            "Load calibration", "load", "Load a calibration file, or a published folder"
        )
        menu_on_click(self.load_button, self._choices)
        self.published_button = push_button(
            "Pixel 4", "published", "Use the published Pixel 4 calibration; downloaded if need be"
        )
        self.about = text_label("choose_about", "What to do in this tab")
        self.list = QListWidget()
        self.list.setObjectName("nearby")
        self.list.setMinimumHeight(MIN_LIST_PX)
        self.list.setToolTip("Calibrations that are open, or lie beside an open capture")
        self.list.itemClicked.connect(lambda item: self.chosen.emit(item.data(RECORD)))
        self.list.itemActivated.connect(lambda item: self.chosen.emit(item.data(RECORD)))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(in_row(self.load_button, self.published_button))
        layout.addWidget(self.about)
        layout.addWidget(self.list, stretch=1)
        layout.addStretch()  # where there is no list
        self.refresh()

    @property
    def folders(self) -> list[Path]:
        """Published calibrations beside open captures."""
        return [path for path in self._nearby() if path.is_dir()]

    def refresh(self) -> None:
        """List what there is, with what does not match in red."""
        captures = list(queries.captures(self._viewer).values())
        self.list.clear()
        for text, record in self._records():
            item = QListWidgetItem(text)
            item.setData(RECORD, record)
            is_fit, sentence = _fitness(record, captures)
            item.setToolTip(sentence)
            if not is_fit:
                item.setText(f"{text} (does not match)")
                item.setForeground(QBrush(QColor(NOT_MATCHING)))
            self.list.addItem(item)
        has_any = self.list.count() > 0
        self.about.setText(SOME if has_any else NONE if captures else NO_CAPTURE)
        self.list.setVisible(has_any)

    def _records(self) -> Iterable[tuple[str, Calibration | Path]]:
        opened = {info.calibration_path for _, info in queries.described_layers(self._viewer)}
        yield from queries.calibrations(self._viewer).items()
        for path in self._nearby():
            if str(path) not in opened:
                yield calibration_label(path), path

    def _nearby(self) -> list[Path]:
        captures = queries.captures(self._viewer).values()
        return list(dict.fromkeys(path for c in captures for path in nearby_calibrations(c)))

    def _choices(self) -> list[Choice]:
        return [("File…", self.choose_file), ("Folder…", self.choose_folder)]

    def choose_file(self) -> None:
        """Ask for a file."""
        path, _ = QFileDialog.getOpenFileName(self, "Load a calibration", self._start(), FILTER)
        if path:
            self.chosen.emit(path_of_choice(Path(path)))

    def choose_folder(self) -> None:
        """Ask for a folder in the published layout."""
        folder = QFileDialog.getExistingDirectory(self, "Load a calibration folder", self._start())
        if folder:
            self.chosen.emit(Path(folder))

    def _start(self) -> str:
        captures = list(queries.captures(self._viewer).values())
        files = captures[-1].source.files if captures else ()
        return str(Path(files[0]).parent) if files else ""


def _fitness(record: Calibration | Path, captures: list[DualPixelCapture]) -> tuple[bool, str]:
    """Of the capture that was opened last."""
    return fitness(record, captures[-1]) if captures else (True, "")
