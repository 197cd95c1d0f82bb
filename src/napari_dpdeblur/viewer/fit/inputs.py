"""The inputs of a fit: capture, calibration and photo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qtpy.compat import isalive
from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QComboBox, QFileDialog, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.viewer.fit.photo import PhotoInput
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.calibrations import (
    calibration_label,
    fitness,
    match,
    nearby_calibrations,
    path_of_choice,
)
from napari_dpdeblur.viewer.shared.controls import (
    SteadyLabel,
    browse_button,
    choice,
    in_row,
    menu_on_click,
)

NO_CAPTURE = "No capture open"
ESTIMATE = "Estimate the lens"
FILTER = "Calibrations (*.dpcal blur_kernels_left.npy);;All files (*)"
MATCHING, NOT_MATCHING = "#3fbf7f", "#f0625d"


class FitInputs(QObject):
    """Two lists that follow the layers of the viewer; ``changed`` tells of every choice.

    The panel lays them out as ``rows``: labels and controls.
    """

    changed = Signal()

    def __init__(self, viewer: Any, parent: QWidget) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._file: Path | None = None
        self._nearby: list[Path] = []  # calibrations on disk for the chosen capture
        self._seen_capture: DualPixelCapture | None = None
        self._is_chosen = False  # whether the user has chosen the calibration
        self.captures = choice("capture", "Capture to fit; both views must be open in napari")
        self.calibrations = choice(
            "calibration",
            "Calibration of the camera: open in napari, a file, or the lens estimated from the "
            "capture itself",
        )
        self.photo = PhotoInput(parent)
        browse = browse_button(
            "choose_calibration", "Choose a calibration file or folder", lambda: None
        )
        menu_on_click(browse, lambda: [("File…", self._browse), ("Folder…", self._browse_folder)])
        self.fitness = SteadyLabel("fitness", "Whether the calibration suits the capture", 2)
        self.rows: dict[str, QWidget] = {
            "Capture": self.captures,
            "Calibration": in_row(self.calibrations, browse),
            "": self.fitness,
            "Photo": self.photo,
        }
        self.changed.connect(self._show_fitness)
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

    def recall_file(self, path: Path) -> None:
        """List the calibration used last with this camera, and choose it if it matches."""
        self.offer_file(path)
        if self.capture is not None and match(path, self.capture) and not self._is_chosen:
            self.calibrations.setCurrentIndex(self._index_of_path(path))

    def use_file(self, path: Path) -> None:
        """List a calibration file and choose it."""
        self._keep_choice()
        self.offer_file(path)
        self.calibrations.setCurrentIndex(self._index_of_path(path))

    def choose_capture(self, capture: DualPixelCapture) -> None:
        """Choose a capture that is open."""
        indices = range(self.captures.count())
        index = next((i for i in indices if self.captures.itemData(i) is capture), -1)
        if index >= 0:
            self.captures.setCurrentIndex(index)

    def choose_calibration(self, calibration: Calibration) -> None:
        """Choose a calibration that is open, as the user would in the list."""
        indices = range(self.calibrations.count())
        index = next((i for i in indices if self.calibrations.itemData(i) is calibration), -1)
        if index >= 0:
            self._keep_choice()
            self.calibrations.setCurrentIndex(index)

    def choose_estimate(self) -> None:
        """Estimate the lens from the capture."""
        self._keep_choice()
        self.calibrations.setCurrentIndex(0)

    def _keep_choice(self) -> None:
        self._is_chosen = True

    def refresh(self, event: Any = None) -> None:
        """Update both lists; a new capture is selected, else the selection is kept."""
        if not isalive(self):  # Qt's part may be gone before Python's
            return
        captures = list(queries.captures(self._viewer).items())
        _fill(self.captures, captures, NO_CAPTURE, is_newest_chosen=True)
        self._find_nearby()
        self._fill_calibrations()
        self._choose_matching()
        self.photo.follow(self.capture)
        self.changed.emit()

    def _fill_calibrations(self) -> None:
        calibrations: list[tuple[str, Any]] = [(ESTIMATE, None)]
        calibrations += queries.calibrations(self._viewer).items()
        opened = [info.calibration_path for _, info in queries.described_layers(self._viewer)]
        files = [*self._nearby, *([] if self._file is None else [self._file])]
        for path in dict.fromkeys(files):
            if str(path) not in opened:
                calibrations.append((calibration_label(path), self._known_path(path)))
        self._is_chosen &= any(record is self.calibration for _, record in calibrations)
        _fill(self.calibrations, calibrations)

    def _known_path(self, path: Path) -> Path:
        """The path object that is listed already, because the lists compare by identity."""
        listed = [self.calibrations.itemData(i) for i in range(self.calibrations.count())]
        return next((each for each in listed if isinstance(each, Path) and each == path), path)

    def _index_of_path(self, path: Path) -> int:
        """The entry of a calibration by its file, whether it is open in the viewer or not."""
        opened = [
            info.calibration
            for _, info in queries.described_layers(self._viewer)
            if info.calibration_path == str(path)
        ]
        indices = range(self.calibrations.count())
        records = [self.calibrations.itemData(index) for index in indices]
        for index, record in enumerate(records):
            is_path = isinstance(record, Path) and record == path
            if is_path or any(record is each for each in opened if each is not None):
                return index
        return int(self.calibrations.currentIndex())

    def _find_nearby(self) -> None:
        capture = self.capture
        if capture is not self._seen_capture:
            self._seen_capture = capture
            self._nearby = [] if capture is None else nearby_calibrations(capture)

    def _capture_chosen(self) -> None:
        self._find_nearby()
        self._fill_calibrations()
        self._choose_matching()
        self.photo.follow(self.capture)
        self.changed.emit()

    def _choose_matching(self) -> None:
        """Select a matching calibration, unless the user has chosen one that may match.

        If none matches, the lens is estimated.
        """
        capture, chosen = self.capture, self.calibration
        if capture is None or (self._is_chosen and (chosen is None or match(chosen, capture))):
            return
        offers = [self.calibrations.itemData(i) for i in range(self.calibrations.count())]
        fits = [match(offer, capture) for offer in offers]
        best = max(range(len(fits)), key=lambda index: (fits[index], index))
        self.calibrations.setCurrentIndex(best if fits[best] > 0 else 0)

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self.parent(), "Choose a calibration", self._start_folder(), FILTER
        )
        if path:
            self.use_file(path_of_choice(Path(path)))

    def _browse_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self.parent(), "Choose a calibration folder", self._start_folder()
        )
        if folder:
            self.use_file(Path(folder))

    def _start_folder(self) -> str:
        files = [] if self.capture is None else self.capture.source.files
        return str(Path(files[0]).parent) if files else ""

    def _show_fitness(self) -> None:
        """Say at once whether the chosen calibration suits the capture."""
        if self.capture is None:
            self.fitness.setText("")
            return
        is_fit, text = fitness(self.calibration, self.capture)
        self.fitness.setStyleSheet(f"color: {MATCHING if is_fit else NOT_MATCHING}")
        self.fitness.setText(text)


def _fill(
    box: QComboBox,
    items: list[tuple[str, Any]],
    when_empty: str = "",
    is_newest_chosen: bool = False,
) -> None:
    """Replace the entries without a signal; keep the chosen record, else take the last one.

    ``is_newest_chosen``: take the last of those that were not listed before, if there are any.
    """
    chosen, was_empty = box.currentData(), box.count() == 0
    known = [box.itemData(index) for index in range(box.count())]
    box.blockSignals(True)
    box.clear()
    for text, record in items:
        box.addItem(text, record)
    if not items:
        box.addItem(when_empty, None)
    new = [i for i, (_, record) in enumerate(items) if not any(record is old for old in known)]
    index = next((i for i, (_, record) in enumerate(items) if record is chosen), -1)
    if is_newest_chosen and new:
        index = new[-1]
    box.setCurrentIndex(box.count() - 1 if was_empty or index < 0 else index)
    box.blockSignals(False)
