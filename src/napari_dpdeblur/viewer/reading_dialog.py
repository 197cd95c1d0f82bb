"""Ask how to read pictures whose files do not say it: encoding, levels, orientation.

Only a user at the window is asked; scripts and tests get the default of the format.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import napari
from qtpy.QtCore import QThread
from qtpy.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QWidget,
)
from superqt.utils import ensure_main_thread

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.header import ENCODINGS, LANDSCAPE, ORIENTATIONS, SRGB
from napari_dpdeblur.capture.picture_pair import is_unclear, suggested_levels
from napari_dpdeblur.viewer.shared.remembered import remember, remembered

SECTION = "open"
MAX_LEVEL = 65535
WHITE_OVERSHOOT = 1.02
PATIENCE_MS = 24 * 3600 * 1000  # of a thread that waits for the answer
_waiting = threading.local()  # whether a user waits for what this thread opens
_ENCODING_LABELS = {"srgb": "sRGB (developed by software)", "linear": "linear (raw values)"}
_ORIENTATION_LABELS = {"landscape": "along x (landscape)", "transposed": "along y (portrait)"}


@dataclass(frozen=True)
class Reading:
    """How to read a pair of pictures; ``ask`` is whether to ask again for files of this kind."""

    encoding: str
    black: float
    white: float
    orientation: str = LANDSCAPE
    ask: bool = True

    def applied(self, capture: DualPixelCapture) -> DualPixelCapture:
        """The capture read in this way."""
        changed = replace(
            capture, encoding=self.encoding, black=self.black, white=self.white, notes=()
        )
        return changed.with_orientation(self.orientation)


def confirmed(capture: DualPixelCapture) -> DualPixelCapture | None:
    """The capture as the user wants it read; None if the user cancelled.

    Returned as it is when its files are clear, or when nobody can be asked.
    """
    if not is_unclear(capture) or not user_is_waiting():
        return capture
    return _asked(capture)


@ensure_main_thread(await_return=True, timeout=PATIENCE_MS)
def _asked(capture: DualPixelCapture) -> DualPixelCapture | None:
    reading = preselected(capture)
    if reading.ask:
        dialog = ReadingDialog(capture, reading, _main_window())
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return None
        reading = dialog.reading
        remember(SECTION, {kind_of_file(capture): asdict(reading)})
    return reading.applied(capture)


def preselected(capture: DualPixelCapture) -> Reading:
    """What was chosen last for files of this kind, else what the values suggest."""
    suggested = suggested_levels(capture.raw)
    default = Reading(
        suggested.encoding or SRGB,
        capture.black,
        capture.white if suggested.white is None else suggested.white,
    )
    stored = remembered(SECTION).get(kind_of_file(capture))
    reading = _checked(stored, default) if isinstance(stored, Mapping) else default
    # Values far above the remembered white level are those of another camera.
    return reading if capture.raw.max() <= WHITE_OVERSHOOT * reading.white else default


def kind_of_file(capture: DualPixelCapture) -> str:
    """What files have in common that are read alike, such as "16-bit RGB PNG"."""
    suffix = Path(capture.source.files[0]).suffix.lower().removeprefix(".")
    kind = {"tif": "TIFF", "jpg": "JPEG"}.get(suffix, suffix.upper())
    colour = "RGB" if capture.shape[1] == 3 else "greyscale"
    return f"{8 * capture.raw.itemsize}-bit {colour} {kind}"


class ReadingDialog(QDialog):
    """Encoding, levels and orientation of a pair of pictures."""

    def __init__(
        self, capture: DualPixelCapture, reading: Reading, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Open a dual-pixel capture")
        kind = kind_of_file(capture)
        self._encoding = _choices(ENCODINGS, _ENCODING_LABELS, reading.encoding)
        self._black = _level(reading.black)
        self._white = _level(reading.white)
        self._orientation = _choices(ORIENTATIONS, _ORIENTATION_LABELS, reading.orientation)
        self._silent = QCheckBox(f"Do not ask again for {kind} files")
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        names = " and ".join(Path(file).name for file in capture.source.files)
        form = QFormLayout(self)
        question = f"How are the values of {names} stored?"
        form.addRow(QLabel(f"{question}\n({kind}, values up to {capture.raw.max()})"))
        form.addRow("Encoding", self._encoding)
        form.addRow("Black level", self._black)
        form.addRow("White level", self._white)
        form.addRow("Disparity", self._orientation)
        form.addRow(self._silent)
        form.addRow(buttons)
        self._buttons = buttons
        for box in (self._black, self._white):
            box.valueChanged.connect(self._check_levels)

    @property
    def reading(self) -> Reading:
        """What is chosen."""
        return Reading(
            str(self._encoding.currentData()),
            self._black.value(),
            self._white.value(),
            str(self._orientation.currentData()),
            ask=not self._silent.isChecked(),
        )

    def _check_levels(self) -> None:
        is_valid = self._black.value() < self._white.value()
        ok = self._buttons.button(QDialogButtonBox.StandardButton.Ok)
        ok.setEnabled(is_valid)
        ok.setToolTip("" if is_valid else "The black level must be below the white level.")


def _choices(values: tuple[str, ...], labels: Mapping[str, str], current: str) -> QComboBox:
    box = QComboBox()
    for value in values:
        box.addItem(labels[value], value)
    box.setCurrentIndex(values.index(current))
    return box


def _level(value: float) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setDecimals(0)
    box.setRange(0, MAX_LEVEL)
    box.setValue(value)
    return box


def _checked(stored: Mapping[str, Any], default: Reading) -> Reading:
    """The remembered reading, or the default if the settings file was damaged."""
    try:
        reading = Reading(**{**asdict(default), **stored})
        is_known = reading.encoding in ENCODINGS and reading.orientation in ORIENTATIONS
        is_valid = is_known and 0 <= float(reading.black) < float(reading.white) <= MAX_LEVEL
    except (TypeError, ValueError):
        return default
    return reading if is_valid else default


@contextmanager
def for_user() -> Iterator[None]:
    """In a thread: what is opened meanwhile was asked for by a user."""
    _waiting.here = True
    try:
        yield
    finally:
        _waiting.here = False


def user_is_waiting() -> bool:
    """Whether a user has just opened something in a window.

    A script calls the viewer before the event loop runs, or without a window.
    """
    if getattr(_waiting, "here", False):
        return True
    application = QApplication.instance()
    window = _main_window()
    if application is None or window is None or not window.isVisible():
        return False
    thread = QThread.currentThread()
    return bool(thread == application.thread() and thread.loopLevel() > 0)


def _main_window() -> QWidget | None:
    viewer = napari.current_viewer()
    return getattr(getattr(viewer, "window", None), "_qt_window", None)
