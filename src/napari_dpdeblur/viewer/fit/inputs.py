"""The inputs of a fit: capture and calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qtpy.compat import isalive
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QComboBox, QFileDialog, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.shared.controls import browse_button, choice, in_row

NO_CAPTURE = "No capture open"
NO_CALIBRATION = "None"
FILTER = "Calibrations (*.dpcal);;All files (*)"


class FitInputs(QObject):
    """Two lists that follow the layers of the viewer; ``changed`` tells of every choice.

    The panel lays them out as ``rows``: labels and controls.
    """

    changed = Signal()

    def __init__(self, viewer: Any, parent: QWidget) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._file: Path | None = None
        self._is_chosen = False  # whether the user has chosen the calibration
        self.captures = choice("capture", "Capture to fit; both views must be open in napari")
        self.calibrations = choice(
            "calibration", "Calibration of the camera: open in napari, or a file"
        )
        browse = browse_button("choose_calibration", "Choose a calibration file", self._browse)
        self.rows: dict[str, QWidget] = {
            "Capture": self.captures,
            "Calibration": in_row(self.calibrations, browse),
        }
        self.captures.currentIndexChanged.connect(lambda _: self._capture_chosen())
        self.calibrations.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.calibrations.activated.connect(lambda _: self._keep_choice())
        self.refresh()

    @property
    def group(self) -> str:
        """Name of the chosen capture."""
        return str(self.captures.currentText())

    @property
    def capture(self) -> DualPixelCapture | None:
        """The chosen capture."""
        chosen: DualPixelCapture | None = self.captures.currentData()
        return chosen

    @property
    def calibration(self) -> Calibration | Path | None:
        """The chosen calibration, or the file that holds it."""
        chosen: Calibration | Path | None = self.calibrations.currentData()
        return chosen

    @property
    def calibration_path(self) -> Path | None:
        """The file of the chosen calibration, if it has one."""
        chosen = self.calibration
        if isinstance(chosen, Path):
            return chosen
        for _, info in queries.described_layers(self._viewer):
            if chosen is not None and info.calibration is chosen:
                return None if info.calibration_path is None else Path(info.calibration_path)
        return None

    def offer_file(self, path: Path) -> None:
        """List a calibration file; it is selected if nothing in the viewer matches."""
        self._file = path
        self.refresh()

    def use_file(self, path: Path) -> None:
        """List a calibration file and choose it."""
        self._keep_choice()
        self.offer_file(path)
        self.calibrations.setCurrentIndex(self.calibrations.count() - 1)

    def _keep_choice(self) -> None:
        self._is_chosen = True

    def refresh(self, event: Any = None) -> None:
        """Update both lists; the selection is kept while it exists."""
        if not isalive(self):  # Qt's part may be gone before Python's
            return
        captures = list(queries.captures(self._viewer).items())
        _fill(self.captures, captures, NO_CAPTURE)
        calibrations: list[tuple[str, Any]] = list(queries.calibrations(self._viewer).items())
        if self._file is not None:
            calibrations.append((self._file.name, self._file))
        _fill(self.calibrations, calibrations, NO_CALIBRATION)
        self._choose_matching()
        self.changed.emit()

    def _capture_chosen(self) -> None:
        self._choose_matching()
        self.changed.emit()

    def _choose_matching(self) -> None:
        """Select a matching calibration, unless the user has chosen one that may match."""
        capture = self.capture
        if capture is None or (self._is_chosen and _fit(self.calibration, capture)):
            return
        offers = [self.calibrations.itemData(i) for i in range(self.calibrations.count())]
        fits = [_fit(offer, capture) for offer in offers]
        if max(fits) > 0:
            best = max(range(len(fits)), key=lambda index: (fits[index], index))
            self.calibrations.setCurrentIndex(best)

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.parent(), "Choose a calibration", "", FILTER)
        if path:
            self.use_file(Path(path))


def _fit(calibration: Any, capture: DualPixelCapture) -> int:
    """2: sizes agree; 1: a file, of which nothing is known yet; 0: of another camera."""
    if not isinstance(calibration, Calibration):
        return int(calibration is not None)
    height, width = capture.shape[-2:]
    size = (round(height * capture.pixel_aspect), width)
    sizes = (calibration.frame_shape, (calibration.field.height, calibration.field.width))
    return 2 * int(size in sizes and capture.orientation == calibration.orientation)


def _fill(box: QComboBox, items: list[tuple[str, Any]], when_empty: str) -> None:
    """Replace the entries without a signal; keep the chosen record, else take the last one."""
    chosen = box.currentData()
    box.blockSignals(True)
    box.clear()
    for text, record in items:
        box.addItem(text, record)
    if not items:
        box.addItem(when_empty, None)
    index = next((i for i, (_, record) in enumerate(items) if record is chosen), -1)
    box.setCurrentIndex(index if index >= 0 else box.count() - 1)
    box.blockSignals(False)
