"""Where to save run folders."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox, QFileDialog, QHBoxLayout, QLineEdit, QWidget

from napari_dpdeblur.viewer.shared.controls import browse_button

TIP = "Folder for the run folders, each named after its capture"


class OutputFolder(QWidget):
    """A check box and the folder for run folders."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.save = QCheckBox("Save to")
        self.save.setObjectName("save_run")
        self.save.setToolTip("Write a run folder when the fit is done")
        self.line = QLineEdit()
        self.line.setObjectName("output_folder")
        self.line.setToolTip(TIP)
        browse = browse_button("choose_output", "Choose the folder", self._browse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for control in (self.save, self.line, browse):
            layout.addWidget(control)
        self.save.toggled.connect(lambda _: self.changed.emit())
        self.line.editingFinished.connect(self.changed.emit)

    @property
    def parent_folder(self) -> str:
        """The chosen folder; empty if runs are not saved."""
        return self.line.text().strip() if self.save.isChecked() else ""

    def folder_for(self, name: str) -> Path | None:
        """A run folder that does not exist yet: name-run, name-run-2 and so on."""
        if not self.parent_folder:
            return None
        first = Path(self.parent_folder).expanduser() / f"{name}-run"
        folder, number = first, 1
        while folder.exists():
            number += 1
            folder = first.with_name(f"{first.name}-{number}")
        return folder

    def show_folder(self, folder: str) -> None:
        """Show what was remembered."""
        self.line.setText(folder)
        self.save.setChecked(bool(folder))

    def _browse(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Save runs in", self.line.text())
        if folder:
            self.show_folder(folder)
            self.changed.emit()
