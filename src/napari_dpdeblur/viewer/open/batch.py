"""ListedFits: fits of listed captures, one after the other, kept as run folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import capture_job
from napari_dpdeblur.jobs.messages import Job, Progress
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.fit_queue import WaitingFit, fit_queue
from napari_dpdeblur.viewer.open.listing import Entry, Listing
from napari_dpdeblur.viewer.shared.worker import Worker
from napari_dpdeblur.viewer.shared.worker_panel import PausableTimer, duration_text

WAITING, CANCELLED, FAILED = "waiting", "cancelled", "failed"


@dataclass(frozen=True, eq=False)
class FitPlan:
    """What all fits have in common; ``output`` None: run folders beside the captures."""

    settings: FitSettings
    calibration: Calibration | Path | None
    output: Path | None = None

    def run_folder(self, entry: Entry) -> Path:
        """A folder that does not exist yet: name-run, name-run-2 and so on."""
        first = (self.output or entry.folder) / f"{entry.name}-run"
        folder, number = first, 1
        while folder.exists():
            number += 1
            folder = first.with_name(f"{first.name}-{number}")
        return folder


class ListedFits(QObject):
    """Runs the fits of a listing through the queue of fits; ``changed`` tells of each step."""

    changed = Signal()

    def __init__(self, viewer: Any, listing: Listing, parent: QWidget) -> None:
        super().__init__(parent)
        self._viewer, self._listing = viewer, listing
        self._waiting: dict[Entry, WaitingFit] = {}
        self._running: Entry | None = None
        self._timer = PausableTimer()
        self.worker = Worker(parent)
        fit_queue().watch(self.worker)
        self.worker.progressed.connect(self._show)
        self.worker.finished.connect(self._finish)
        self.worker.failed.connect(lambda text: self._end(FAILED, text))
        self.worker.cancelled.connect(lambda _: self._end(CANCELLED))

    @property
    def is_busy(self) -> bool:
        """Whether a fit of the list runs or waits."""
        return self._running is not None or bool(self._waiting)

    def start(self, entries: Iterable[Entry], plan: FitPlan) -> None:
        """Put the fits of these captures into the queue, except for those that are in it."""
        for entry in entries:
            if entry is self._running or entry in self._waiting:
                continue
            self._set(entry, WAITING)
            fit = WaitingFit(entry.name, partial(self._begin, entry, plan), self)
            self._waiting[entry] = fit
            fit_queue().add(fit)
        self.changed.emit()

    def cancel(self) -> None:
        """Cancel the running fit and forget the others."""
        waiting, self._waiting = self._waiting, {}
        fit_queue().forget(self)
        for entry in waiting:
            self._set(entry, CANCELLED)
        self.worker.cancel()
        self.changed.emit()

    def stop(self) -> None:
        """Kill everything at once, because the window closes."""
        self._waiting.clear()
        fit_queue().forget(self)
        self.worker.kill()

    def _begin(self, entry: Entry, plan: FitPlan) -> None:
        self._waiting.pop(entry, None)
        self._running, self._timer = entry, PausableTimer()
        self._set(entry, "starting", fraction=0.0)
        request = capture_job.CaptureFitRequest(
            self._opened(entry) or entry.files,
            plan.calibration,
            plan.settings,
            plan.run_folder(entry),
        )
        self.worker.start(Job(capture_job.FUNCTION, request, f"The fit of {entry.name}"))
        self.changed.emit()

    def _opened(self, entry: Entry) -> DualPixelCapture | None:
        """The capture as it was read for the viewer, if it is open."""
        return opened_capture(self._viewer, entry)

    def _show(self, event: Progress) -> None:
        if self._running is not None:
            text = f"{event.stage}, {event.fraction:.0%}"
            self._set(self._running, text, fraction=event.fraction)

    def _finish(self, folder: Path) -> None:
        if self._running is not None:
            self._running.run_folder = folder
        elapsed = duration_text(self._timer.elapsed_s())
        self._end(f"done in {elapsed}", f"Saved to {folder}.")

    def _end(self, state: str, details: str = "") -> None:
        entry, self._running = self._running, None
        if entry is not None:
            self._set(entry, state, details)
        self.changed.emit()

    def _set(
        self, entry: Entry, state: str, details: str = "", fraction: float | None = None
    ) -> None:
        entry.state, entry.details, entry.fraction = state, details, fraction
        self._listing.entry_changed.emit(entry)


def opened_capture(viewer: Any, entry: Entry) -> DualPixelCapture | None:
    """The capture of an entry, if it is open in the viewer."""
    files = {str(file) for file in entry.files}
    for capture in queries.captures(viewer).values():
        if {str(Path(file)) for file in capture.source.files} == files:
            return capture
    return None
