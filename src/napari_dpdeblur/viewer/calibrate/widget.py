"""The Calibrate widget: run, estimate, load, download and save calibrations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from napari.qt.threading import create_worker
from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFileDialog

from napari_dpdeblur.calibration import Calibration, save_calibration
from napari_dpdeblur.errors import DpDeblurError, ResultError, SettingsError
from napari_dpdeblur.jobs import calibration_job, lens_job
from napari_dpdeblur.jobs.messages import Job, Progress
from napari_dpdeblur.viewer.calibrate.controls import CalibrateControls
from napari_dpdeblur.viewer.calibrate.verdict import verdict_html
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_steps
from napari_dpdeblur.viewer.layers.calibration import (
    KERNELS,
    TARGET,
    calibration_layers,
    target_layer,
)
from napari_dpdeblur.viewer.layers.convert import hidden
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo, set_layer_info
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.file_names import with_suffix
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue, warm_up_layers
from napari_dpdeblur.viewer.shared.timers import call_later
from napari_dpdeblur.viewer.shared.worker_panel import duration_text

FILTER = "Calibrations (*.dpcal)"
SUFFIX = ".dpcal"
RESIZE_MS = 200
REFRESH_MS = 150


class CalibrateWidget(CalibrateControls):
    """Measures the blur kernels of a camera with a screen, estimates or loads them."""

    _layers_changed = Signal()
    used = Signal(object)  # the calibration that somebody has chosen, loaded or made

    def __init__(self, napari_viewer: Any) -> None:
        self._viewer = queries.unwrapped_viewer(napari_viewer)
        super().__init__(self._viewer)
        self.calibration: Calibration | None = None
        self._group = ""
        self._tasks = GuiTaskQueue(self)
        warm_up_layers()
        self.panel.run_clicked.connect(self.run)
        self.choose.chosen.connect(self.use)
        self.save_button.clicked.connect(lambda: self.choose_and_save())
        self.published_button.clicked.connect(lambda: self.fetch_published())
        self.estimate.button.clicked.connect(lambda: self.run_estimate())
        self.estimate.open_button.clicked.connect(lambda: self.add_open_captures())
        self.panel.worker.progressed.connect(self._show)
        self.panel.worker.finished.connect(self._finish)
        self.panel.worker.cancelled.connect(self._report_cancelled)
        self.panel.worker.ended.connect(lambda: self._enable_files(True))
        events = self._viewer.layers.events
        self.settle_after([self._layers_changed], REFRESH_MS, self.choose.refresh)
        for event in (events.inserted, events.removed):
            event.connect(self._tell_of_layers)

    def run(self) -> None:
        """Start the calibration that the controls describe."""
        try:
            request = self.request()
        except SettingsError as error:
            show_warning(str(error))
            return
        self._group = request.camera
        self._start(calibration_job.MAKE, request, "The calibration", None)

    def run_estimate(self) -> None:
        """Start the estimate of a lens from ordinary captures."""
        try:
            request = self.estimate.request(self.calibration)
        except SettingsError as error:
            show_warning(str(error))
            return
        self._start(calibration_job.ESTIMATE, request, "The lens estimate", None)

    def add_open_captures(self) -> None:
        """List the files of the open captures for the estimate."""
        captures = queries.captures(self._viewer).values()
        files = [Path(file) for capture in captures for file in capture.source.files[:1]]
        if not files:
            show_warning("No capture with files is open; open one, or choose its files.")
        self.estimate.captures.list.add(files)

    def use(self, chosen: Path | Calibration) -> None:
        """Load a calibration from a path; show the verdict on one that is open."""
        if isinstance(chosen, Path):
            self.load(chosen)
            return
        self.calibration, self._group = chosen, chosen.camera
        self.show_verdict(verdict_html(chosen.verdict, chosen.front))
        self._enable_files(not self.panel.worker.is_running)
        self.used.emit(chosen)

    def load(self, path: Path) -> None:
        """Load a calibration file or a published folder, in the background."""
        self._start(calibration_job.READ, path, "Loading the calibration", path)

    def fetch_published(self) -> None:
        """Load the published Pixel 4 calibration, in the background.

        It is downloaded unless it lies beside an open capture, or in the cache.
        """
        if folders := self.choose.folders:
            self.load(folders[0])
            return
        from napari_dpdeblur.datasets.pixel4 import calibration_folder  # brings pooch

        title = "Downloading the published calibration"
        self._start(calibration_job.FETCH, None, title, calibration_folder())

    def save(self, path: Path) -> None:
        """Save the calibration, in the background; a file of just this name is replaced."""
        if self.calibration is None:
            show_warning("No calibration to save: make or load one first.")
            return
        try:
            path = path if path.suffix.lower() == SUFFIX else with_suffix(path, SUFFIX)
        except ResultError as error:
            show_error(str(error))
            return
        saved = self.calibration
        writer = create_worker(_written, saved, path)
        writer.returned.connect(lambda problem: self._report_saved(saved, path, problem))
        self.save_button.setEnabled(False)
        writer.start()

    def choose_and_save(self) -> None:
        """Ask for a file and save to it."""
        name = "" if self.calibration is None else f"{self.calibration.camera}{SUFFIX}"
        path, _ = QFileDialog.getSaveFileName(self, "Save the calibration", name, FILTER)
        if path:
            self.save(Path(path))

    def stop_all(self) -> None:
        """Stop the calibration; its layers are kept."""
        super().stop_all()
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.disconnect(self._tell_of_layers)
        self._tasks.finish()

    def _start(self, function: str, request: Any, title: str, path: Path | None) -> None:
        if self.panel.worker.is_running:
            show_warning("A calibration is already running; wait until it finishes or cancel it.")
            return
        self.show_verdict("")
        self.lens.clear()
        self._enable_files(False)
        self.panel.start(
            Job(function, request, title),
            prepare=lambda found: (found, calibration_layers(found, path=path), path),
        )

    def _tell_of_layers(self, event: Any = None) -> None:
        self._layers_changed.emit()

    def _enable_files(self, is_enabled: bool) -> None:
        self.load_button.setEnabled(is_enabled)
        self.published_button.setEnabled(is_enabled)
        self.estimate.button.setEnabled(is_enabled)
        self.estimate.refine.setEnabled(is_enabled and self.calibration is not None)
        self.save_button.setEnabled(is_enabled and self.calibration is not None)

    def _show(self, event: Progress) -> None:
        if lens_job.KERNELS in event.found:
            self.lens.show_kernels(event.found[lens_job.KERNELS], "The lens so far.")
        if {"thumbnail", "discs", "frame_shape"} <= set(event.found):
            is_first = not self._viewer.layers
            self._tasks.add(put_steps(self._viewer, [_seen_layer(event.found, self._group)]))
            if is_first:  # the canvas changes its size when the first layer comes
                call_later(self._viewer.reset_view, RESIZE_MS)

    def _finish(self, result: Any) -> None:
        self.calibration, pieces, path = result
        self._group = self.calibration.camera
        elapsed = duration_text(self.panel.timer.elapsed_s())
        self.panel.bar.setValue(self.panel.bar.maximum())
        self.lens.clear()
        self.show_verdict(verdict_html(self.calibration.verdict, self.calibration.front))
        self.panel.say("Creating layers...")
        if path is not None:
            remembered.remember("fit", {"calibration": str(path)})
            if any(queries.captures(self._viewer)):  # which the kernels would cover
                pieces = [hidden(piece) for piece in pieces]
        steps = put_steps(self._viewer, pieces)
        self._tasks.add([self._hide_target, *steps, lambda: self._show_kernels(elapsed)])

    def _hide_target(self) -> None:
        """Hide the target, which was visible during the run."""
        layer = queries.layer_of(self._viewer, self._group, TARGET)
        if layer is not None and layer.visible:
            layer.visible = False

    def _show_kernels(self, elapsed: str) -> None:
        self._viewer.layers.selection.active = queries.layer_of(self._viewer, self._group, KERNELS)
        self.panel.say(f"Done in {elapsed}.")
        self.used.emit(self.calibration)

    def _report_cancelled(self, seen: Progress | None) -> None:
        self.lens.clear()
        self.panel.say("Cancelled; kept the layers found so far.")

    def _report_saved(self, saved: Calibration, path: Path, problem: str | None) -> None:
        self._enable_files(not self.panel.worker.is_running)
        if problem is not None:
            show_error(problem)
            return
        remembered.remember("fit", {"calibration": str(path)})
        self._note_path(saved, path)
        show_info(f"Calibration saved to {path}.")

    def _note_path(self, calibration: Calibration, path: Path) -> None:
        """Store the path in the layers, so that a command line can name it."""
        for layer, info in queries.described_layers(self._viewer):
            if info.calibration is calibration:
                set_layer_info(layer, replace(info, calibration_path=str(path)))


def _written(calibration: Calibration, path: Path) -> str | None:
    """The error message or None; runs in a thread."""
    try:
        save_calibration(calibration, path)
    except DpDeblurError as error:
        return str(error)
    return None


def _seen_layer(found: dict[str, Any], group: str) -> LayerData:
    """The captured discs and their detected centres."""
    thumbnail, frame_shape = found["thumbnail"], found["frame_shape"]
    height, width = thumbnail.shape
    enlarged = frame_shape[1] / width, frame_shape[0] / height
    centres = (found["discs"][:, :2] + 0.5) * enlarged - 0.5  # of the thumbnail, then of the frame
    return target_layer(thumbnail, centres, frame_shape, LayerInfo(TARGET, group))
