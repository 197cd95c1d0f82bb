"""The controls of the Calibrate widget: estimate, target, captures, camera, settings."""

from __future__ import annotations

from qtpy.QtWidgets import QDoubleSpinBox, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.jobs.calibration_job import CalibrationRequest
from napari_dpdeblur.viewer.calibrate.estimate_section import EstimateSection
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
from napari_dpdeblur.viewer.shared.lens_preview import LensPreview
from napari_dpdeblur.viewer.shared.settings_form import SettingsForm
from napari_dpdeblur.viewer.shared.worker_panel import WorkerPanel

SECTION = "calibrate"
GROUPS = {
    "discs": ("Discs", "Captures of the discs; several are merged"),
    "white": ("White screen", "Captures of the white screen"),
    "black": ("Black screen", "Captures of the black screen"),
    "sheets": ("White sheet", "Captures of a white sheet through a diffuser, for vignetting"),
}
FRONT_GROUPS = {
    "front_discs": ("Discs in front", "Captures of the discs in front of the focus plane"),
    "front_white": ("White screen in front", "Captures of the white screen at the same place"),
    "front_black": ("Black screen in front", "Captures of the black screen at the same place"),
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
        self.front = {name: CaptureGroup(name, *texts) for name, texts in FRONT_GROUPS.items()}
        self.estimate = EstimateSection(self)
        self._make_camera()
        self.panel = WorkerPanel("Calibrate", "the calibration", self)
        self.lens = LensPreview(self)
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
        front = section(
            "3. In front of the focus plane (optional)",
            "front_fold",
            "Captures of the target in front of the focus plane, to measure the kernels there, "
            "too; without them they are derived",
            _stacked(list(self.front.values())),
        )
        settings = section(
            "Solver settings", "solver_fold", "Expert settings of the kernel solver", self.form
        )
        estimate = section(
            "Estimate from captures (no target)",
            "estimate_fold",
            "Estimate the lens from ordinary captures of a camera, without a target",
            self.estimate,
        )
        parts = [in_row(*self._file_buttons()), estimate, target, captures, front, settings]
        lay_out_scrolling(self, parts, pinned=[self.panel, self.lens, self.verdict])

    def _captures(self) -> QWidget:
        about = QWidget()
        form = QFormLayout(about)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("Camera", self.camera)
        form.addRow("Focus distance", self.focus)
        return _stacked([*self.groups.values(), about])

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
        self._check_captures()
        if self.target.target is None:
            raise SettingsError(
                "No calibration target: show it on this screen, or load the target.json of the "
                "screen in the captures."
            )
        groups = {**self.groups, **self.front}
        paths = {name: tuple(group.list.paths) for name, group in groups.items()}
        return CalibrationRequest(
            **paths,
            target=self.target.target,
            settings=SolveSettings.of(self.form.value),
            camera=self.camera.text().strip() or "unknown camera",
            focus_distance_m=self.focus.value() or None,
        )

    def _check_captures(self) -> None:
        required = {name: self.groups[name] for name in ("discs", "white", "black")}
        if any(group.list.paths for group in self.front.values()):
            required |= self.front
        for name, group in required.items():
            if not group.list.paths:
                title = {**GROUPS, **FRONT_GROUPS}[name][0].lower()
                raise SettingsError(f"No captures of the {title}: drop their files onto the list.")

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


def _stacked(parts: list[QWidget]) -> QWidget:
    content = QWidget()
    layout = QVBoxLayout(content)
    layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part)
    return content
