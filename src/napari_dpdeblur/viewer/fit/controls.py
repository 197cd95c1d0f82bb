"""The controls of the Fit widget: inputs, settings and estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtWidgets import QApplication, QCheckBox, QVBoxLayout, QWidget

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.errors import DpDeblurError, SettingsError
from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import fit_job
from napari_dpdeblur.viewer.compare.bar import CompareBar
from napari_dpdeblur.viewer.compare.before_layer import compared_group
from napari_dpdeblur.viewer.fit.command import SETTINGS_FILE, fit_command
from napari_dpdeblur.viewer.fit.devices import DeviceList
from napari_dpdeblur.viewer.fit.estimate import estimate_text
from napari_dpdeblur.viewer.fit.inputs import FitInputs
from napari_dpdeblur.viewer.fit.loss_plot import LossPlot
from napari_dpdeblur.viewer.fit.notes import FitNotes
from napari_dpdeblur.viewer.fit.output import OutputFolder
from napari_dpdeblur.viewer.fit.region import visible_region
from napari_dpdeblur.viewer.open.cameras import CameraMemory
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.controls import (
    in_row,
    lay_out_scrolling,
    push_button,
    section,
    text_label,
)
from napari_dpdeblur.viewer.shared.dock import JobControls
from napari_dpdeblur.viewer.shared.settings_form import SettingsForm
from napari_dpdeblur.viewer.shared.timers import call_later
from napari_dpdeblur.viewer.shared.worker_panel import WorkerPanel

SECTION = "fit"
MAIN_SETTINGS = ("preset", "layers", "front_scale", "back_scale")
OTHER_SETTINGS = tuple(
    name for name in FitSettings.shown_fields() if name not in (*MAIN_SETTINGS, "device")
)
LABELS = {
    "front_scale": "Nearest blur",
    "back_scale": "Farthest blur",
    "weights": "Weights of the objective",
    "blend_px": "Tile blending (px)",
    "smooth_image": "Image smoothing",
}
SETTLE_MS = 150


class FitControls(JobControls):
    """Controls that follow the layers of the viewer and remember their values."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._estimated_s: float | None = None
        self._used: frozenset[str] = frozenset()  # settings that are shown
        self._parameters = FitSettings().parameters  # no controls, but kept
        self._make_choices()
        self._make_panel()
        self._restore()
        self._cameras = CameraMemory(self)
        self._follow_changes()
        self._follow_layers()
        self._update_estimate()

    def _make_choices(self) -> None:
        self.inputs = FitInputs(self._viewer, self)
        self.devices = DeviceList(self)
        self.main_form = SettingsForm(FitSettings, MAIN_SETTINGS, LABELS, parent=self)
        self.main_form.insert_row(1, "Device", self.devices)
        for position, (label, control) in enumerate(self.inputs.rows.items()):
            self.main_form.insert_row(position, label, control)
        self.other_form = SettingsForm(FitSettings, OTHER_SETTINGS, LABELS, parent=self)
        self.main_form.changed.connect(self._show_used_settings)
        self.output = OutputFolder(self)
        self.visible_only = QCheckBox("Visible region only")
        self.visible_only.setObjectName("visible_only")
        self.visible_only.setToolTip("Fit only the part of the capture that the canvas shows")

    def _make_panel(self) -> None:
        self.estimate = text_label("estimate", "Estimated time and memory of the fit")
        self.panel = WorkerPanel("Run", "the fit", self)
        self.plot = LossPlot(self)
        self.preview_region_button = push_button(
            "Preview region", "quick_region", "Quick fit of the visible region"
        )
        self.preview_whole_button = push_button(
            "Preview image", "quick_whole", "Quick fit of the whole image at low resolution"
        )
        self.more = section(
            "More settings", "more_settings", "All other settings of the fit", self._more_content()
        )
        looks = in_row(self.preview_region_button, self.preview_whole_button)
        self.compare = CompareBar(self._viewer, self)
        self.compare.failed.connect(show_error)
        parts = [self.main_form, self.visible_only, looks, self.compare, self.more, self.plot]
        # The notes come and go above the buttons, which stay where they are.
        self.notes = FitNotes(self)
        lay_out_scrolling(self, parts, pinned=[self.notes, self.estimate, self.panel])

    def _more_content(self) -> QWidget:
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.other_form)
        layout.addWidget(self.output)
        command = push_button(
            "Copy command", "copy_command", "Copy the equivalent command line", self.copy_command
        )
        text = push_button("Copy YAML", "copy_yaml", "Copy all settings as YAML", self.copy_yaml)
        reset = push_button(
            "Defaults", "defaults", "Restore the default settings", self.show_defaults
        )
        layout.addWidget(in_row(command, text, reset))
        return content

    def settings(self, preset: str | None = None) -> FitSettings:
        """The settings in the controls, for another preset if given; SettingsError if invalid.

        Settings that the preset does not use have their default.
        """
        values = {**self.main_form.value, **self.other_form.value, "device": self.devices.device}
        values["preset"] = preset or values["preset"]
        used = PRESETS[values["preset"]].uses
        given = {name: value for name, value in values.items() if name in used}
        return FitSettings.of({**given, "parameters": self._parameters})

    def show_settings(self, settings: FitSettings) -> None:
        """Show these settings in the controls."""
        values = settings.model_dump()
        self._parameters = settings.parameters
        self.main_form.value = values
        self.other_form.value = values
        self.devices.choose(settings.device)
        self._show_used_settings()

    def _show_used_settings(self) -> None:
        """Hide the settings that the chosen preset does not use."""
        used = PRESETS[self.main_form.value["preset"]].uses
        if used == self._used:
            return
        self._used = used
        self.main_form.show_only(used)
        self.other_form.show_only(used)
        call_later(self._fit_section)

    def _fit_section(self) -> None:
        """Give the open section the height of its rows, which superqt sets when it opens."""
        if self.more.isExpanded():
            self.more.expand(animate=False)

    def show_defaults(self) -> None:
        """Show the default settings in the controls."""
        self.show_settings(FitSettings())

    def region(self) -> Crop | None:
        """The region to fit; None for the whole capture."""
        return self.visible_part() if self.visible_only.isChecked() else None

    def visible_part(self) -> Crop | None:
        """The part of the capture that the canvas shows."""
        return visible_region(self._viewer, self.inputs.group)

    def copy_command(self) -> None:
        """Copy the command line to the clipboard."""
        capture = self.inputs.capture
        if capture is None:
            show_warning("Open a dual-pixel capture first.")
            return
        output = self.output.folder_for(capture.name)
        try:
            crop, path = self._crop(), self.inputs.calibration_path
            is_estimated = path is None and self.inputs.estimates_lens
            photo = self.inputs.photo.path
            text = fit_command(capture, path, self.settings(), crop, output, is_estimated, photo)
        except DpDeblurError as error:
            show_error(str(error))
            return
        QApplication.clipboard().setText(text)
        needs_file = f"--settings {SETTINGS_FILE}" in text
        advice = f" Also save the YAML as {SETTINGS_FILE}." if needs_file else ""
        show_info(f"Command line copied.{advice}")

    def copy_yaml(self) -> None:
        """Copy the settings to the clipboard."""
        try:
            QApplication.clipboard().setText(self.settings().to_yaml())
        except SettingsError as error:
            show_error(str(error))
            return
        show_info("Settings copied as YAML.")

    def _crop(self) -> Crop | None:
        region, calibration = self.region(), self.inputs.calibration
        capture = self.inputs.capture
        if region is None or calibration is None or capture is None:
            return region  # an estimated lens covers the whole frame
        if isinstance(calibration, Path):  # where its field lies is only known when it is read
            calibration = load_calibration(calibration)
        return fit_job.crop_of(region, capture, calibration)

    def _restore(self) -> None:
        kept = remembered.remembered(SECTION, {"settings": {}, "calibration": "", "output": ""})
        try:
            self.show_settings(FitSettings.of(kept["settings"]))
        except SettingsError:
            self.show_defaults()
        self.output.show_folder(kept["output"])
        if kept["calibration"] and Path(kept["calibration"]).exists():
            self.inputs.offer_file(Path(kept["calibration"]))

    def _follow_changes(self) -> None:
        parts = (self.inputs, self.main_form, self.other_form, self.devices, self.output)
        signals = [*(part.changed for part in parts), self.visible_only.toggled]
        self.settle_after(signals, SETTLE_MS, self.settle)

    def _follow_layers(self) -> None:
        # napari holds these weakly, and forgets them with the widget
        events = self._viewer.layers.events
        events.inserted.connect(self.inputs.refresh)
        events.removed.connect(self.inputs.refresh)

    def settle(self) -> None:
        """Update the estimate and remember the settings."""
        self._update_estimate()
        try:
            settings = self.settings().model_dump()
        except SettingsError:
            return
        path = self.inputs.calibration_path
        kept = {"settings": settings, "output": self.output.parent_folder}
        kept = kept if path is None else {**kept, "calibration": str(path)}
        remembered.remember(SECTION, kept)
        self._cameras.keep(kept)

    def _update_estimate(self) -> None:
        self.compare.set_group(compared_group(self._viewer, self.inputs.group))
        try:
            text, self._estimated_s = estimate_text(
                self.inputs.capture, self.inputs.calibration, self.settings(), self.region()
            )
        except DpDeblurError as error:
            text, self._estimated_s = str(error), None
        self.estimate.setText(text)
