"""The Fit widget: run a fit and watch its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from napari.utils.notifications import show_error, show_info, show_warning

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import fit_job
from napari_dpdeblur.jobs.lens_job import KERNELS
from napari_dpdeblur.jobs.messages import Job, Progress
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.fit.controls import FitControls
from napari_dpdeblur.viewer.fit.estimate import learn_speed
from napari_dpdeblur.viewer.fit.previews import PreviewLayers
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_steps
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import hidden, overlap_layer, run_layers
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, LayerData, layer_info
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue
from napari_dpdeblur.viewer.shared.timers import call_later
from napari_dpdeblur.viewer.shared.worker import Worker
from napari_dpdeblur.viewer.shared.worker_panel import duration_text

LOW_RESOLUTION, MIN_LOW_PX = 4, 48
PREVIEW_SUFFIX = " preview"
SWAP_VIEWS = "swap_views"  # the setting that exchanges left and right
TITLE = "The fit"
_workers: WeakSet[Worker] = WeakSet()  # of all Fit widgets


class FitWidget(FitControls):
    """Recovers the all-in-focus image and the defocus map of a capture."""

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__(queries.unwrapped_viewer(napari_viewer))
        self._previews: PreviewLayers | None = None  # of the last fit
        self._capture_group = ""
        self._group = ""
        self._settings = FitSettings()  # of the fit, whatever the controls say now
        self._expected_s: float | None = None  # of it, by the plain formula
        self._is_resumable = False
        self._again: Callable[[], None] = self.run  # what started the last fit
        self._removed: list[str] = []
        self._tasks = GuiTaskQueue(self)
        self.panel.run_clicked.connect(self.run)
        self.preview_region_button.clicked.connect(lambda: self.preview_region())
        self.preview_whole_button.clicked.connect(lambda: self.preview_whole())
        self.notes.swap_clicked.connect(self.swap_views)
        self._follow_worker()
        self._viewer.layers.events.removed.connect(self._on_layer_removed)

    def run(self) -> None:
        """Start the fit that the controls describe."""
        self._again = self.run
        capture = self.inputs.capture
        output = None if capture is None else self.output.folder_for(capture.name)
        self._start(None, {"region": self.region(), "is_resumable": True, "output": output})

    def preview_region(self) -> None:
        """Fit the visible region quickly."""
        self._again = self.preview_region
        self._start("preview", {"region": self.visible_part()}, PREVIEW_SUFFIX)

    def preview_whole(self) -> None:
        """Fit the whole image at low resolution."""
        self._again = self.preview_whole
        capture = self.inputs.capture
        shorter_px = min(capture.shape[-2:]) if capture is not None else 0
        reduction = max(min(LOW_RESOLUTION, shorter_px // MIN_LOW_PX), 1)
        self._start("preview", {"reduction": reduction}, PREVIEW_SUFFIX)

    def swap_views(self) -> None:
        """Exchange left and right in the settings, and repeat the last fit."""
        try:
            swapped = not getattr(self._settings, SWAP_VIEWS, False)
            self.show_settings(self.settings().changed(**{SWAP_VIEWS: swapped}))
        except SettingsError as error:
            show_error(str(error))
            return
        if self.inputs.estimates_lens:  # from the views as they were
            self.inputs.choose_estimate()
        self._again()

    def _start(self, preset: str | None, options: dict[str, Any], suffix: str = "") -> None:
        capture, calibration = self.inputs.capture, self.inputs.calibration
        problem = self._reason_not_to_start()
        if problem is not None or capture is None:
            show_warning(problem)
            return
        try:
            settings = self.settings(preset)
        except SettingsError as error:
            show_error(str(error))
            return
        self.settle()
        self._settings, self._expected_s = settings, self._estimated_s
        if calibration is None:
            self._expected_s = None  # the time of the estimate must not count as that of a fit
        self._is_resumable = options.get("is_resumable", False)
        self._capture_group = self.inputs.group
        group = self._group = self.inputs.group + suffix
        photo = self.inputs.photo.path
        request = fit_job.FitRequest(capture, calibration, settings, photo=photo, **options)
        self._previews = PreviewLayers(self._viewer, group, self._tasks)
        self.plot.start()
        self.notes.clear()
        self.panel.start(
            Job(fit_job.FUNCTION, request, TITLE),
            prepare=lambda result: (result, run_layers(result, group)),
        )

    def stop_all(self) -> None:
        """Stop the fit; its previews are kept."""
        super().stop_all()
        self._tasks.finish()
        self._keep_pictures()

    def _reason_not_to_start(self) -> str | None:
        if self.inputs.capture is None:
            return "No capture to fit: open both files of a capture, or its folder."
        if any(worker.is_running for worker in _workers):
            return "A fit is already running; wait until it finishes or cancel it."
        return None

    def _follow_worker(self) -> None:
        worker = self.panel.worker
        _workers.add(worker)
        worker.progressed.connect(self._show)
        worker.finished.connect(self._finish)
        worker.cancelled.connect(self._keep_partial)
        worker.failed.connect(lambda text: self._keep_pictures())

    def _show(self, event: Progress) -> None:
        self.plot.add(event.losses)
        if KERNELS in event.found:
            self.notes.show_kernels(event.found[KERNELS])
        if fit_job.ESTIMATED_LENS in event.found:
            self._show_lens(event.found[fit_job.ESTIMATED_LENS])
        if fit_job.OVERLAP in event.found:
            overlap = overlap_layer(event.found[fit_job.OVERLAP], self._capture_group)
            self._tasks.add(put_steps(self._viewer, [overlap]))
        if fit_job.DOUBTS in event.found:
            self.notes.show_doubts(event.found[fit_job.DOUBTS])
        if self._previews is not None:
            self._previews.update(event)

    def _show_lens(self, lens: Calibration) -> None:
        """Show the verdict on an estimated lens, and list the lens for other fits and for saving.

        Its layers are hidden: they would cover the capture.
        """
        self.notes.show_lens(lens)
        pieces = calibration_layers(lens, f"{self._capture_group} lens")
        self._tasks.add(put_steps(self._viewer, [hidden(piece) for piece in pieces]))

    def _finish(self, prepared: tuple[Result, list[LayerData]]) -> None:
        result, pieces = prepared
        elapsed_s = self.panel.timer.elapsed_s()
        folder = result.run_folder
        where = "" if folder is None else f" Saved to {folder}."
        self.panel.bar.setValue(self.panel.bar.maximum())
        self.panel.say("Creating layers...")
        text = f"Done in {duration_text(elapsed_s)}.{where}"
        steps = [] if self._previews is None else self._previews.steps_to_result(pieces)
        self._tasks.add([*steps, lambda: self._show_result(text)])
        self.notes.show_notes(result)
        is_whole = not result.provenance.get(fit_job.IS_RESUMED) and not self.panel.was_paused
        if self._is_resumable and is_whole:
            learn_speed(self._expected_s, elapsed_s, self._settings)

    def _show_result(self, text: str) -> None:
        image = queries.layer_of(self._viewer, self._group, ALL_IN_FOCUS)
        if image is not None:
            self._viewer.layers.selection.active = image
        self.panel.say(text)

    def _keep_partial(self, seen: Progress | None) -> None:
        names = self._keep_pictures()
        share = "the start" if seen is None else f"{seen.fraction:.0%}"
        kept = f"; kept {' and '.join(names)}" if names else ""
        text = f"Fit cancelled at {share}{kept}."
        if self._is_resumable:
            text += " Run resumes from the last checkpoint."
        self.panel.say(text)
        show_info(text)

    def _keep_pictures(self) -> list[str]:
        self.notes.clear()
        return [] if self._previews is None else self._previews.keep()

    def _on_layer_removed(self, event: Any) -> None:
        info = layer_info(event.value)
        if info is None or info.capture is None or info.group != self._capture_group:
            return
        if self.panel.worker.is_running:
            self._removed.append(event.value.name)
            call_later(self._report_removed)  # of all in one sentence

    def _report_removed(self) -> None:
        names, self._removed = self._removed, []
        if names and self.panel.worker.is_running:
            text = " and ".join(names) + (" was" if len(names) == 1 else " were")
            show_info(f"{text} removed; the fit continues with a copy.")
