"""The inputs of a fit: capture, calibration and photo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qtpy.compat import isalive
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QComboBox, QFileDialog, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.file_format import read_header
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.viewer.fit.photo import PhotoInput
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.shared.controls import browse_button, choice, in_row

NO_CAPTURE = "No capture open"
ESTIMATE = "Estimate the lens"
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
            "calibration",
            "Calibration of the camera: open in napari, a file, or the lens estimated from the "
            "capture itself",
        )
        self.photo = PhotoInput(parent)
        browse = browse_button("choose_calibration", "Choose a calibration file", self._browse)
        self.rows: dict[str, QWidget] = {
            "Capture": self.captures,
            "Calibration": in_row(self.calibrations, browse),
            "Photo": self.photo,
        }
        self.photo.changed.connect(self.changed.emit)
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
        """The chosen calibration, or the file that holds it; None: estimate the lens."""
        chosen: Calibration | Path | None = self.calibrations.currentData()
        return chosen

    @property
    def estimates_lens(self) -> bool:
        """Whether the lens is, or was, estimated from the chosen capture alone."""
        chosen, capture = self.calibration, self.capture
        if not isinstance(chosen, Calibration) or capture is None:
            return chosen is None
        return chosen.is_estimated and chosen.source.get("captures") == [capture.name]

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

    def choose_estimate(self) -> None:
        """Estimate the lens from the capture."""
        self._keep_choice()
        self.calibrations.setCurrentIndex(0)

    def _keep_choice(self) -> None:
        self._is_chosen = True

    def refresh(self, event: Any = None) -> None:
        """Update both lists; the selection is kept while it exists."""
        if not isalive(self):  # Qt's part may be gone before Python's
            return
        captures = list(queries.captures(self._viewer).items())
        _fill(self.captures, captures, NO_CAPTURE)
        calibrations: list[tuple[str, Any]] = [(ESTIMATE, None)]
        calibrations += queries.calibrations(self._viewer).items()
        if self._file is not None:
            calibrations.append((self._file.name, self._file))
        self._is_chosen &= any(record is self.calibration for _, record in calibrations)
        _fill(self.calibrations, calibrations)
        self._choose_matching()
        self.photo.follow(self.capture)
        self.changed.emit()

    def _capture_chosen(self) -> None:
        self._choose_matching()
        self.photo.follow(self.capture)
        self.changed.emit()

    def _choose_matching(self) -> None:
        """Select a matching calibration, unless the user has chosen one that may match.

        If none matches, the lens is estimated.
        """
        capture, chosen = self.capture, self.calibration
        if capture is None or (self._is_chosen and (chosen is None or _fit(chosen, capture))):
            return
        offers = [self.calibrations.itemData(i) for i in range(self.calibrations.count())]
        fits = [_fit(offer, capture) for offer in offers]
        best = max(range(len(fits)), key=lambda index: (fits[index], index))
        self.calibrations.setCurrentIndex(best if fits[best] > 0 else 0)

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.parent(), "Choose a calibration", "", FILTER)
        if path:
            self.use_file(Path(path))


def _fit(calibration: Calibration | Path | None, capture: DualPixelCapture) -> int:
    """2: sizes agree; 1: a file that may match; 0: of another camera, or none."""
    if calibration is None:
        return 0
    if isinstance(calibration, Path):
        return int(_file_may_match(calibration, capture))
    field = calibration.field
    sizes = (calibration.frame_shape, (field.height, field.width))
    return 2 * int(_matches(capture, sizes, calibration.orientation))


def _file_may_match(path: Path, capture: DualPixelCapture) -> bool:
    """Whether a file matches by its header; of folders and damaged files nothing is known."""
    try:
        header = read_header(path)
    except CalibrationError:
        return True
    sizes = (header.frame_shape, (header.field[2], header.field[3]))
    return _matches(capture, sizes, header.orientation)


def _matches(capture: DualPixelCapture, sizes: Sequence[tuple[int, int]], orientation: str) -> bool:
    height, width = capture.shape[-2:]
    size = (round(height * capture.pixel_aspect), width)
    return size in sizes and capture.orientation == orientation


def _fill(box: QComboBox, items: list[tuple[str, Any]], when_empty: str = "") -> None:
    """Replace the entries without a signal; keep the chosen record, else take the last one."""
    chosen, was_empty = box.currentData(), box.count() == 0
    box.blockSignals(True)
    box.clear()
    for text, record in items:
        box.addItem(text, record)
    if not items:
        box.addItem(when_empty, None)
    index = next((i for i, (_, record) in enumerate(items) if record is chosen), -1)
    box.setCurrentIndex(box.count() - 1 if was_empty or index < 0 else index)
    box.blockSignals(False)
