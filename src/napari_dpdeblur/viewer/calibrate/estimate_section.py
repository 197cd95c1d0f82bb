"""Section "Estimate from captures": ordinary captures of a camera, and what is known of it."""

from __future__ import annotations

from qtpy.QtWidgets import QCheckBox, QDoubleSpinBox, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.jobs.calibration_job import EstimateRequest
from napari_dpdeblur.viewer.calibrate.files import CaptureGroup
from napari_dpdeblur.viewer.shared.controls import ignore_wheel, in_row, prominent, push_button
from napari_dpdeblur.viewer.shared.settings_form import SettingsForm

UNKNOWN = "from EXIF"
# Label, unit, largest value and meaning of what `DualPixelCapture.with_optics` takes.
OPTICS = {
    "focal_length_mm": ("Focal length", " mm", 2000.0, "Focal length of the lens"),
    "f_number": ("f-number", "", 64.0, "f-number of the lens, such as 4"),
    "focus_distance_m": ("Focus distance", " m", 100.0, "Distance the camera is focused at"),
    "sensor_width_mm": (
        "Sensor width",
        " mm",
        100.0,
        "Width of the part of the sensor that the picture shows, such as 36",
    ),
}
LABELS = {"profile": "Start from", "rows": "Rows", "cols": "Columns", "steps": "Steps"}


class EstimateSection(QWidget):
    """Captures of ordinary scenes, the camera's name and optics, and the button Estimate."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.captures = CaptureGroup(
            "estimate",
            "Captures",
            "Captures of textured scenes with blur, all with the same camera and focus",
        )
        self.camera = QLineEdit()
        self.camera.setObjectName("estimate_camera")
        self.camera.setPlaceholderText(UNKNOWN)
        self.camera.setToolTip("Name of the camera, stored with the lens")
        self.form = SettingsForm(EstimateSettings, ("profile",), LABELS, parent=self)
        self.optics = {name: _number(name, *texts[1:]) for name, texts in OPTICS.items()}
        self.refine = QCheckBox("Adapt the loaded calibration")
        self.refine.setObjectName("refine")
        self.refine.setToolTip(
            "Start from the calibration that is loaded; it is kept unless the captures support a "
            "change"
        )
        self.refine.setEnabled(False)
        self.button = prominent(
            push_button("Estimate", "estimate_lens", "Estimate the lens from these captures")
        )
        self.open_button = push_button(
            "Add the open captures", "add_open", "Add the captures that are open in napari"
        )
        self._lay_out()

    def request(self, loaded: Calibration | None) -> EstimateRequest:
        """The estimate that the controls describe; SettingsError if there is no capture."""
        paths = tuple(self.captures.list.paths)
        if not paths:
            raise SettingsError(
                "No captures to estimate the lens from: drop their files onto the list."
            )
        return EstimateRequest(
            paths,
            EstimateSettings.of(self.form.value),
            self.camera.text().strip() or None,
            {name: box.value() or None for name, box in self.optics.items()},
            loaded if self.refine.isEnabled() and self.refine.isChecked() else None,
        )

    def _lay_out(self) -> None:
        about = QWidget()
        form = QFormLayout(about)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("Camera", self.camera)
        for name, box in self.optics.items():
            form.addRow(OPTICS[name][0], box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        row = in_row(self.refine, self.button)
        for part in (self.captures, self.open_button, about, self.form, row):
            layout.addWidget(part)


def _number(name: str, unit: str, largest: float, meaning: str) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setObjectName(name)
    box.setToolTip(f"{meaning}; from the files if they say it")
    box.setRange(0.0, largest)
    box.setDecimals(2)
    box.setSuffix(unit)
    box.setSpecialValueText(UNKNOWN)
    ignore_wheel(box)
    return box
