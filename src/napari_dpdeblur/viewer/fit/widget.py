"""The Fit widget: run a fit and watch its progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from napari.utils.notifications import show_error, show_info, show_warning

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import fit_job
from napari_dpdeblur.jobs.lens_job import KERNELS
from napari_dpdeblur.jobs.messages import Job, Progress
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.fit.controls import FitControls
from napari_dpdeblur.viewer.fit.estimate import learn_time
from napari_dpdeblur.viewer.fit.housekeeping import Housekeeping
from napari_dpdeblur.viewer.fit.previews import PreviewLayers
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_steps
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import hidden, overlap_layer, run_layers
from napari_dpdeblur.viewer.layers.hygiene import PREVIEW_SUFFIX
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, LayerData, layer_info
from napari_dpdeblur.viewer.open.fit_queue import WaitingFit, fit_queue
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue
from napari_dpdeblur.viewer.shared.timers import call_later
from napari_dpdeblur.viewer.shared.worker_panel import duration_text

LOW_RESOLUTION, MIN_LOW_PX = 4, 48
SWAP_VIEWS = "swap_views"  # the setting that exchanges left and right
TITLE = "The fit"


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
        self.panel.run_while_busy = "Run next"
        self.panel.run_clicked.connect(self.run)
        self.preview_region_button.clicked.connect(lambda: self.preview_region())
        self.preview_whole_button.clicked.connect(lambda: self.preview_whole())
        self.notes.swap_clicked.connect(self.swap_views)
        self.notes.undo_clicked.connect(self._bring_back)
        self._housekeeping = Housekeeping(self._viewer, self._tasks)
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
        # The time of an estimate of the lens must not count as that of a fit.
        expected_s = None if calibration is None else self._estimated_s
        photo = self.inputs.photo.path
        request = fit_job.FitRequest(capture, calibration, settings, photo=photo, **options)
        group = self.inputs.group
        begin = partial(self._begin, request, group, suffix, expected_s)
        fit = WaitingFit(group + suffix, begin, self, lambda: not self._tasks.is_busy)
        if not fit_queue().add(fit):
            ahead = len(fit_queue().waiting)
            show_info(f"The fit of {group + suffix} waits for {ahead} other{'s' * (ahead > 1)}.")

    def _begin(
        self, request: fit_job.FitRequest, group: str, suffix: str, expected_s: float | None
    ) -> None:
        """Start a fit whose turn it is."""
        self._settings, self._expected_s = request.settings, expected_s
        self._is_resumable = request.is_resumable
        self._capture_group = group
        group = self._group = group + suffix
        self._previews = PreviewLayers(self._viewer, group, self._tasks)
        self.plot.start()
        self.compare.reset()
        self.notes.clear()
        self.panel.start(
            Job(fit_job.FUNCTION, request, TITLE),
            prepare=lambda result: (result, run_layers(result, group)),
        )

    def stop_all(self) -> None:
        """Stop the fit and forget those that wait; its previews are kept."""
        fit_queue().forget(self)
        super().stop_all()
        self.compare.stop()
        self._tasks.finish()
        self._keep_pictures()

    def _reason_not_to_start(self) -> str | None:
        if self.inputs.capture is None:
            return "No capture to fit: open both files of a capture, or its folder."
        return None

    def _follow_worker(self) -> None:
        worker = self.panel.worker
        fit_queue().watch(worker)
        worker.progressed.connect(self._show)
        worker.finished.connect(self._finish)
        worker.cancelled.connect(self._keep_partial)
        worker.failed.connect(lambda text: self._keep_pictures())

    def _show(self, event: Progress) -> None:
        self.plot.add(event.losses)
        if fit_job.FIELD in event.found:
            self._housekeeping.show_field(self._capture_group, event.found[fit_job.FIELD])
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
        steps += self._housekeeping.steps_after_result(self._group)
        self._tasks.add([*steps, lambda: self._show_result(text)])
        self.notes.show_notes(result)
        is_whole = not result.provenance.get(fit_job.IS_RESUMED) and not self.panel.was_paused
        if self._is_resumable and is_whole:
            learn_time(self._expected_s, elapsed_s, self._settings)

    def _show_result(self, text: str) -> None:
        image = queries.layer_of(self._viewer, self._group, ALL_IN_FOCUS)
        if image is not None:
            self._viewer.layers.selection.active = image
        self.compare.set_group(self._group)
        self.notes.show_removed(len(self._housekeeping.removed))
        self.panel.say(text)

    def _bring_back(self) -> None:
        self._housekeeping.bring_back()
        self.notes.show_removed(0)

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
        if info is not None and info.group == self._group and info.defocus_scales:
            call_later(self._forget_lost_result)
        if info is None or info.capture is None or info.group != self._capture_group:
            return
        if self.panel.worker.is_running:
            self._removed.append(event.value.name)
            call_later(self._report_removed)  # of all in one sentence

    def _forget_lost_result(self) -> None:
        """Clear what the panel says about a result whose layers are gone."""
        is_busy = self.panel.worker.is_running or self._tasks.is_busy
        if not is_busy and not self._housekeeping.has_result(self._group):
            self.panel.say("")
            self.panel.bar.setValue(0)
            self.notes.clear()

    def _report_removed(self) -> None:
        names, self._removed = self._removed, []
        if names and self.panel.worker.is_running:
            text = " and ".join(names) + (" was" if len(names) == 1 else " were")
            show_info(f"{text} removed; the fit continues with a copy.")
