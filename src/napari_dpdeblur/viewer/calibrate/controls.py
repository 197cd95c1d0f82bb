"""The controls of the Calibrate widget: choose, estimate, or measure with target and captures."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLineEdit,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.shot_check import ShotCheck, check_shots
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.jobs.calibration_job import CalibrationRequest
from napari_dpdeblur.viewer.calibrate.choose_section import ChooseSection
from napari_dpdeblur.viewer.calibrate.estimate_section import EstimateSection
from napari_dpdeblur.viewer.calibrate.files import CaptureGroup
from napari_dpdeblur.viewer.calibrate.target import TargetChoice
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import (
    ignore_wheel,
    in_row,
    lay_out_scrolling,
    lay_out_steps,
    push_button,
    section,
    text_label,
)
from napari_dpdeblur.viewer.shared.dock import JobControls
from napari_dpdeblur.viewer.shared.latest_task import LatestTask
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
CHOOSE, ESTIMATE, MEASURE = "Choose", "Estimate", "Measure"
ESTIMATE_GROUP = "estimate"
MAX_VERDICT_PX = 110


class CalibrateControls(JobControls):
    """Controls that remember their values, except for the captures."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.choose = ChooseSection(viewer, self)
        self.target = TargetChoice(self)
        self.groups = {name: CaptureGroup(name, *texts) for name, texts in GROUPS.items()}
        self.front = {name: CaptureGroup(name, *texts) for name, texts in FRONT_GROUPS.items()}
        self.estimate = EstimateSection(self)
        self._make_camera()
        self.panel = WorkerPanel("Calibrate", "the calibration", self)
        self.lens = LensPreview(self)
        self.verdict = text_label("verdict", "Quality of the calibration, and how to improve it")
        self.load_button = self.choose.load_button
        self.published_button = self.choose.published_button
        self.save_button = push_button(
            "Save calibration…", "save", "Save the calibration to a file"
        )
        self.save_button.setEnabled(False)
        self._lay_out()
        self._restore()
        self._follow_changes()
        self._follow_shots()

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
        self.ways = QTabWidget()
        self.ways.setObjectName("ways")
        self.ways.setToolTip("Ways to a calibration")
        for name, content in (
            (CHOOSE, self.choose),
            (ESTIMATE, _scrolling([self.estimate])),
            (MEASURE, _scrolling(self._measuring())),
        ):
            self.ways.addTab(content, name)
        self.ways.currentChanged.connect(lambda _: self._show_run())
        self._verdict_area = _short_area(self.verdict)
        # What comes and goes is above the buttons, which stay where they are.
        lay_out_steps(
            self, self.ways, [self.lens, self._verdict_area, self.save_button, self.panel]
        )
        self._show_run()

    def show_way(self, name: str) -> None:
        """Turn to one of the ways to a calibration."""
        names = [self.ways.tabText(index) for index in range(self.ways.count())]
        self.ways.setCurrentIndex(names.index(name))

    def show_verdict(self, html: str) -> None:
        """Show the verdict, or hide it if it is empty."""
        self.verdict.setText(html)
        self._verdict_area.setVisible(bool(html))

    def _show_run(self) -> None:
        """Only measuring is started here; the other ways have buttons of their own."""
        is_measuring = self.ways.tabText(self.ways.currentIndex()) == MEASURE
        self.panel.run_button.setVisible(is_measuring)

    def _measuring(self) -> list[QWidget]:
        front = section(
            "In front of the focus plane (optional)",
            "front_fold",
            "Captures of the target in front of the focus plane, to measure the kernels there, "
            "too; without them they are derived",
            _stacked(list(self.front.values())),
        )
        settings = section(
            "Solver settings", "solver_fold", "Expert settings of the kernel solver", self.form
        )
        return [self.target, self._captures(), front, settings]

    def _captures(self) -> QWidget:
        about = QWidget()
        form = QFormLayout(about)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("Camera", in_row(self.camera, self.focus))
        return _stacked([*self.groups.values(), about])

    def _follow_shots(self) -> None:
        """Check captures as soon as they are chosen, in a thread."""
        self._shots = LatestTask(self)
        self._shots.done.connect(lambda _, checks: self._show_checks(checks))
        groups = [*self._shot_groups().values(), self.estimate.captures]
        self.settle_after([group.list.changed for group in groups], SETTLE_MS, self._check_shots)

    def _shot_groups(self) -> dict[str, CaptureGroup]:
        return {**self.groups, **self.front}

    def _check_shots(self) -> None:
        paths = {name: tuple(group.list.paths) for name, group in self._shot_groups().items()}
        ordinary = tuple(self.estimate.captures.list.paths)

        def check(_: Any) -> dict[str, ShotCheck]:
            return check_shots(paths) | check_shots({ESTIMATE_GROUP: ordinary})

        self._shots.submit(check)

    def _show_checks(self, checks: dict[str, ShotCheck]) -> None:
        for name, group in (*self._shot_groups().items(), (ESTIMATE_GROUP, self.estimate.captures)):
            group.show_check(checks.get(name))

    def stop_all(self) -> None:
        """Kill the job and end the thread."""
        super().stop_all()
        self._shots.stop()

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


def _short_area(content: QWidget) -> QScrollArea:
    """A text that scrolls when it is long; hidden at first."""
    area = QScrollArea()
    area.setObjectName("verdict_scroll")
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setMaximumHeight(MAX_VERDICT_PX)
    area.setWidget(content)
    area.setVisible(False)
    return area


def _scrolling(parts: list[QWidget]) -> QWidget:
    page = QWidget()
    lay_out_scrolling(page, parts, pinned=[])
    return page


def _stacked(parts: list[QWidget]) -> QWidget:
    content = QWidget()
    layout = QVBoxLayout(content)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(2)
    for part in parts:
        layout.addWidget(part)
    return content
