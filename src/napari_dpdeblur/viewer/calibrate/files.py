"""Lists of captures that accept dropped files and folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from qtpy.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QLabel,
    QListWidget,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.calibration.target.shot_check import ShotCheck
from napari_dpdeblur.viewer.shared.controls import browse_button, in_row, push_button

ROWS_SHOWN = 1
ROW_PX = 22
GOOD, BAD = "#3fbf7f", "#f0625d"


class FileList(QListWidget):
    """A list of files and folders without duplicates; accepts drops."""

    changed = Signal()

    def __init__(self, name: str, tip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip(f"{tip}. Drop files or folders here; Delete removes the selected ones.")
        self.setAcceptDrops(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setFixedHeight(ROWS_SHOWN * ROW_PX + 2 * self.frameWidth())
        self.setTextElideMode(Qt.TextElideMode.ElideLeft)

    @property
    def paths(self) -> list[Path]:
        """The listed paths."""
        return [Path(self.item(row).data(Qt.ItemDataRole.UserRole)) for row in range(self.count())]

    def add(self, paths: Iterable[Path]) -> None:
        """List more files and folders."""
        for path in paths:
            if path not in self.paths:
                self.addItem(path.name or str(path))
                item = self.item(self.count() - 1)
                item.setData(Qt.ItemDataRole.UserRole, str(path))
                item.setToolTip(str(path))
        self.changed.emit()

    def remove_selected(self) -> None:
        """Remove the selected entries, or the last one if none is selected."""
        selected = self.selectedItems() or [self.item(self.count() - 1)]
        for item in filter(None, selected):
            self.takeItem(self.row(item))
        self.changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_selected()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        _accept_files(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        _accept_files(event)

    def dropEvent(self, event: QDropEvent) -> None:
        urls = event.mimeData().urls()
        self.add(Path(url.toLocalFile()) for url in urls if url.isLocalFile())
        event.acceptProposedAction()


def _accept_files(event: QDragEnterEvent | QDragMoveEvent) -> None:
    if event.mimeData().hasUrls():
        event.acceptProposedAction()
    else:
        event.ignore()


class CaptureGroup(QWidget):
    """A list of captures with its title and buttons."""

    def __init__(self, name: str, title: str, tip: str) -> None:
        super().__init__()
        self.list = FileList(f"{name}_files", tip)
        self._title, self._label = title, QLabel(title)
        label = self._label
        label.setObjectName(f"title_{name}")
        label.setBuddy(self.list)
        label.setToolTip(tip)
        label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        files = push_button("Files…", f"add_{name}", f"Add files: {tip}", self._choose_files)
        folder = push_button("Folder…", f"folder_{name}", "Add a folder", self._choose_folder)
        remove = browse_button(
            f"remove_{name}", "Remove the selected entries", self.list.remove_selected
        )
        remove.setText("−")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self.check = QLabel("")
        self.check.setObjectName(f"check_{name}")
        layout.addWidget(in_row(label, files, folder, remove))
        layout.addWidget(self.list)
        layout.addWidget(self.check)
        self.check.setVisible(False)
        self.list.changed.connect(self._forget_check)

    def show_check(self, check: ShotCheck | None) -> None:
        """Show what is known about the listed captures: a number, or what is wrong below."""
        if check is None or not self.list.paths:
            self._forget_check()
            return
        count = check.text.split(",")[0]
        self.check.setText(check.text)
        self.check.setToolTip(check.text)
        self.check.setStyleSheet(f"color: {BAD}")
        self.check.setVisible(not check.is_good)
        self._label.setText(f"{self._title}: {count}" if check.is_good else self._title)
        self._label.setStyleSheet(f"color: {GOOD if check.is_good else BAD}")
        self._label.setToolTip(check.text)

    def _forget_check(self) -> None:
        """Until the new list is checked."""
        self.check.setVisible(False)
        self.check.setText("")
        self._label.setText(self._title)
        self._label.setStyleSheet("")

    def _choose_files(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, "Choose captures")
        self.list.add(Path(path) for path in paths)

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Choose a folder of captures")
        if folder:
            self.list.add([Path(folder)])
