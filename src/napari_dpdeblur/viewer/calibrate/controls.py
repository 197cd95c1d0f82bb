"""The controls of the Calibrate widget: target, captures, camera, settings."""

from __future__ import annotations

from qtpy.QtWidgets import QDoubleSpinBox, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.jobs.calibration_job import CalibrationRequest
from napari_dpdeblur.viewer.calibrate.files import CaptureGroup
from napari_dpdeblur.viewer.calibrate.target import TargetChoice
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import (
    ignore_wheel,
    in_row,
    lay_out_scrolling,
    push_button,
    section,
    text_label,
)
from napari_dpdeblur.viewer.shared.dock import JobControls
from napari_dpdeblur.viewer.shared.settings_form import SettingsForm
from napari_dpdeblur.viewer.shared.worker_panel import WorkerPanel

SECTION = "calibrate"
GROUPS = {
    "discs": ("Discs", "Captures of the discs; several are merged"),
    "white": ("White screen", "Captures of the white screen"),
    "black": ("Black screen", "Captures of the black screen"),
    "sheets": ("White sheet", "Captures of a white sheet through a diffuser, for vignetting"),
}
LABELS = {
    "cols": "Columns",
    "kernel_px": "Kernel size (px)",
    "smoothness": "Smoothness weight",
    "least_noise": "Minimum noise",
    "energy": "Energy weight",
    "radial": "Radial weight",
    "gradient": "Gradient weight",
    "min_valid": "Minimum valid share",
    "min_texture": "Minimum texture",
}
NO_FOCUS = "unknown"
SETTLE_MS = 300


class CalibrateControls(JobControls):
    """Controls that remember their values, except for the captures."""

    def __init__(self) -> None:
        super().__init__()
        self.target = TargetChoice(self)
        self.groups = {name: CaptureGroup(name, *texts) for name, texts in GROUPS.items()}
        self._make_camera()
        self.panel = WorkerPanel("Calibrate", "the calibration", self)
        self.verdict = text_label("verdict", "Quality of the calibration, and how to improve it")
        self._lay_out()
        self._restore()
        self._follow_changes()

    def _make_camera(self) -> None:
        self.camera = QLineEdit()
        self.camera.setObjectName("camera")
        self.camera.setPlaceholderText("Camera name")
        self.camera.setToolTip("Name of the camera, stored with the calibration")
        self.focus = QDoubleSpinBox()
        self.focus.setObjectName("focus_distance")
        self.focus.setToolTip("Focus distance of the camera, if known")
        self.focus.setRange(0.0, 100.0)
        self.focus.setDecimals(3)
        self.focus.setSingleStep(0.01)
        self.focus.setSuffix(" m")
        self.focus.setSpecialValueText(NO_FOCUS)
        ignore_wheel(self.focus)
        self.form = SettingsForm(SolveSettings, labels=LABELS, parent=self)

    def _lay_out(self) -> None:
        target = section(
            "1. Target", "target_fold", "Calibration target on the screen", self.target
        )
        captures = section(
            "2. Captures", "captures_fold", "Captures of the target", self._captures()
        )
        for part in (target, captures):
            part.expand(animate=False)
        settings = section(
            "Solver settings", "solver_fold", "Expert settings of the kernel solver", self.form
        )
        parts = [in_row(*self._file_buttons()), target, captures, settings]
        lay_out_scrolling(self, parts, pinned=[self.panel, self.verdict])

    def _captures(self) -> QWidget:
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        for group in self.groups.values():
            layout.addWidget(group)
        about = QFormLayout()
        about.addRow("Camera", self.camera)
        about.addRow("Focus distance", self.focus)
        layout.addLayout(about)
        return content

    def _file_buttons(self) -> list[QWidget]:
        self.load_button = push_button("Load…", "load", "Load a calibration file")
        self.save_button = push_button("Save…", "save", "Save the calibration to a file")
        self.save_button.setEnabled(False)
        self.published_button = push_button(
            "Pixel 4", "published", "Download the published Pixel 4 calibration"
        )
        return [self.load_button, self.save_button, self.published_button]

    def request(self) -> CalibrationRequest:
        """The calibration that the controls describe; SettingsError if something is missing."""
        for name in ("discs", "white", "black"):
            if not self.groups[name].list.paths:
                raise SettingsError(
                    f"No captures of the {GROUPS[name][0].lower()}: drop their files onto the list."
                )
        if self.target.target is None:
            raise SettingsError(
                "No calibration target: show it on this screen, or load the target.json of the "
                "screen in the captures."
            )
        paths = {name: tuple(group.list.paths) for name, group in self.groups.items()}
        return CalibrationRequest(
            **paths,
            target=self.target.target,
            settings=SolveSettings.of(self.form.value),
            camera=self.camera.text().strip() or "unknown camera",
            focus_distance_m=self.focus.value() or None,
        )

    def _restore(self) -> None:
        kept = remembered.remembered(
            SECTION,
            {"settings": {}, "camera": "", "focus": 0.0, "diagonal": 0.0, "distance": 0.0},
        )
        try:
            settings = SolveSettings.of(kept["settings"])
        except SettingsError:
            settings = SolveSettings()
        self.form.value = settings.model_dump()
        self.camera.setText(kept["camera"])
        self.focus.setValue(kept["focus"])
        for box, value in (
            (self.target.diagonal, kept["diagonal"]),
            (self.target.distance, kept["distance"]),
        ):
            if value:
                box.setValue(value)

    def _follow_changes(self) -> None:
        signals = (
            self.form.changed,
            self.camera.textChanged,
            self.focus.valueChanged,
            self.target.diagonal.valueChanged,
            self.target.distance.valueChanged,
        )
        self.settle_after(signals, SETTLE_MS, self._remember)

    def _remember(self) -> None:
        remembered.remember(
            SECTION,
            {
                "settings": self.form.value,
                "camera": self.camera.text(),
                "focus": self.focus.value(),
                "diagonal": self.target.diagonal.value(),
                "distance": self.target.distance.value(),
            },
        )
