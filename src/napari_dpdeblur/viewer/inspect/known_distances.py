"""Known distances: two points of the image and their metres turn defocus into distance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from napari.utils.notifications import show_info
from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QDoubleSpinBox,
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QLabel,
    QPushButton,
    QWidget,
)

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.results.export import write_distance
from napari_dpdeblur.results.known_distances import (
    KnownDistance,
    constants_from,
    provenance_with,
)
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.metadata import LayerInfo, set_layer_info
from napari_dpdeblur.viewer.layers.queries import described_layers
from napari_dpdeblur.viewer.shared.controls import ignore_wheel
from napari_dpdeblur.viewer.shared.file_names import with_suffix

POINTS = 2
NOT_PICKED = "no point"
HELP = "Press Pick and click a point of the image, for two points at different distances."
TIFFS = "Distances in metres (*.tif *.tiff)"


class _Point:
    """One row: a button to pick a pixel, the pixel, and its distance."""

    def __init__(self, number: int) -> None:
        self.pixel: tuple[int, int] | None = None
        self.button = QPushButton(f"Pick {number}", objectName=f"inspect_pick_{number}")
        self.button.setCheckable(True)
        self.button.setToolTip("Press, then click a point of the image.")
        self.place = QLabel(NOT_PICKED, objectName=f"inspect_point_{number}")
        self.place.setToolTip("Row and column of the point.")
        self.metres = QDoubleSpinBox(objectName=f"inspect_metres_{number}")
        self.metres.setRange(0.0, 1000.0)
        self.metres.setDecimals(3)
        self.metres.setSingleStep(0.1)
        self.metres.setSuffix(" m")
        self.metres.setSpecialValueText("distance")
        self.metres.setToolTip("Distance of the point from the camera.")
        ignore_wheel(self.metres)

    def set_pixel(self, pixel: tuple[int, int] | None) -> None:
        """Show a pixel, or none."""
        self.pixel = pixel
        self.place.setText(NOT_PICKED if pixel is None else f"{pixel[0]}, {pixel[1]}")
        self.button.setChecked(False)


class KnownDistances(QGroupBox):
    """Two points with their distances; ``applied`` tells that the layers have new constants."""

    failed = Signal(str)
    applied = Signal()

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__("Known distances", parent)
        self._viewer = viewer
        self._source: MpiSource | None = None
        self.points = [_Point(number + 1) for number in range(POINTS)]
        self.apply_button = self._button(
            "&Apply", "inspect_apply_distances", "Show distances in metres.", self.apply
        )
        self.save_button = self._button(
            "Save &distances...",
            "inspect_save_distances",
            "Save the distance of each pixel in metres as a float32 TIFF.",
            self._ask_and_save,
        )
        self.status = QLabel(HELP, objectName="inspect_distance_status", wordWrap=True)
        self._lay_out()

    @property
    def is_picking(self) -> bool:
        """Whether the next click on the image picks a point."""
        return any(point.button.isChecked() for point in self.points)

    def set_source(self, source: MpiSource | None) -> None:
        """Use another multiplane image; the points of another image are forgotten."""
        before, self._source = self._source, source
        is_same = source is not None and before is not None and source.layer is before.layer
        if not is_same:
            for point in self.points:
                point.set_pixel(None)
        self._show_status()

    def pick(self, pixel: tuple[int, int]) -> None:
        """Use a clicked pixel for the point that is being picked."""
        for point in self.points:
            if point.button.isChecked():
                point.set_pixel(pixel)

    def apply(self) -> None:
        """Compute the lens constants and store them with the layers of the result."""
        source = self._source
        if source is None:
            return
        if any(point.pixel is None or not point.metres.value() for point in self.points):
            self.failed.emit(f"Two points with their distances are needed. {HELP}")
            return
        known = [
            KnownDistance(*point.pixel, point.metres.value())
            for point in self.points
            if point.pixel is not None
        ]
        try:
            constants = constants_from(source.stack.defocus_map(), known)
        except DpDeblurError as error:
            self.failed.emit(str(error))
            return
        for layer, info in described_layers(self._viewer):
            if info.group == source.group and info.defocus_scales:
                set_layer_info(layer, _with_constants(info, constants, known))
        self.applied.emit()

    def save(self, path: str | Path) -> None:
        """Write the distance of each pixel."""
        source = self._source
        constants = None if source is None else source.lens_constants
        if source is None or constants is None:
            self.failed.emit(f"The distances are not known yet. {HELP}")
            return
        from napari_dpdeblur.calibration.distance import distance_m

        try:
            distances = distance_m(np.asarray(source.stack.defocus_map()), constants)
            written = write_distance(Path(path), distances)
        except DpDeblurError as error:
            self.failed.emit(str(error))
            return
        show_info(f"Saved {written}.")

    def _ask_and_save(self) -> None:
        name = "" if self._source is None else f"{self._source.group} distance map.tif"
        path, _ = QFileDialog.getSaveFileName(self, "Save distances", name, TIFFS)
        if path:
            self.save(path if Path(path).suffix else with_suffix(Path(path), ".tif"))

    def _show_status(self) -> None:
        constants = None if self._source is None else self._source.lens_constants
        self.save_button.setEnabled(constants is not None)
        if constants is None:
            self.status.setText(HELP)
            return
        a, b = constants
        focus = f"focus plane at {-b / a:.3g} m, " if a > 0 > b else ""
        self.status.setText(f"Distances are shown: {focus}A = {a:.3g}, B = {b:.3g} m.")

    def _button(self, text: str, name: str, tip: str, action: Any) -> QPushButton:
        button = QPushButton(text, objectName=name, toolTip=tip)
        button.clicked.connect(lambda: action())
        return button

    def _lay_out(self) -> None:
        layout = QGridLayout(self)
        for row, point in enumerate(self.points):
            point.button.toggled.connect(lambda on, mine=point: self._pick_only(mine, on))
            for column, widget in enumerate((point.button, point.place, point.metres)):
                layout.addWidget(widget, row, column)
        layout.addWidget(self.apply_button, POINTS, 0)
        layout.addWidget(self.save_button, POINTS, 1, 1, 2)
        layout.addWidget(self.status, POINTS + 1, 0, 1, 3)
        layout.setColumnStretch(1, 1)

    def _pick_only(self, chosen: _Point, is_on: bool) -> None:
        for point in self.points:
            if is_on and point is not chosen:
                point.button.setChecked(False)


def _with_constants(
    info: LayerInfo, constants: tuple[float, float], known: list[KnownDistance]
) -> LayerInfo:
    """What is known about a layer, with lens constants in calibration and provenance."""
    calibration = info.calibration
    if calibration is not None:
        calibration = replace(calibration, lens_constants=constants)
    provenance = provenance_with(info.provenance, constants, known)
    return replace(info, calibration=calibration, provenance=provenance)
