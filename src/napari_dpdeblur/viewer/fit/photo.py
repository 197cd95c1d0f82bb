"""The colour photo of a capture."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QWidget

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.photo import find_photo
from napari_dpdeblur.capture.photo.reading import PHOTO_SUFFIXES
from napari_dpdeblur.viewer.shared.controls import browse_button

TIP = (
    "Colour photo of the same scene, which gives the result of a green capture its colours; a file "
    "beside the capture with the same name is found by itself"
)
NO_PHOTO, NO_NEED = "None: the result is grey", "Not needed: in colour"
FILTER = f"Photos ({' '.join(f'*{suffix}' for suffix in PHOTO_SUFFIXES)});;All files (*)"


class PhotoInput(QWidget):
    """A line for the file of a photo; empty: the result stays grey."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = QLineEdit()
        self.line.setObjectName("photo")
        self.line.setPlaceholderText(NO_PHOTO)
        self.line.setClearButtonEnabled(True)
        self.line.setToolTip(TIP)
        browse = browse_button("choose_photo", "Choose a colour photo", self._browse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.line)
        layout.addWidget(browse)
        self.line.textChanged.connect(lambda _: self.changed.emit())
        self._files: tuple[str, ...] | None = None  # of the capture

    @property
    def path(self) -> Path | None:
        """The chosen file."""
        text = self.line.text().strip()
        return Path(text).expanduser() if text and self.isEnabled() else None

    def follow(self, capture: DualPixelCapture | None) -> None:
        """Forget the photo of another capture, and look for that of this one beside it."""
        files = None if capture is None else capture.source.files
        is_grey = capture is None or capture.shape[1] == 1
        self.setEnabled(is_grey)
        self.line.setPlaceholderText(NO_PHOTO if is_grey else NO_NEED)
        if files == self._files:
            return
        self._files = files
        found = None
        if capture is not None and files:
            found = find_photo(Path(files[0]).parent, capture.name)
        self.line.setText("" if found is None else str(found))

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Choose a photo", self.line.text(), FILTER)
        if path:
            self.line.setText(path)
