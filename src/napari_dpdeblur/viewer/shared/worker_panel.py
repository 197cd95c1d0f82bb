"""Buttons, progress bar and status line of a job, for fits and calibrations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from napari_dpdeblur.jobs.messages import Job, Note, Progress
from napari_dpdeblur.progress import RemainingTime
from napari_dpdeblur.viewer.shared.controls import (
    SteadyLabel,
    in_row,
    prominent,
    push_button,
)
from napari_dpdeblur.viewer.shared.worker import Worker

BAR_STEPS = 1000
STATUS_LINES = 2
MIN_TIME_S = 2.0  # before that, a time left would be a guess


class PausableTimer:
    """Elapsed time without pauses."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._paused_at: float | None = None

    def pause(self) -> None:
        """Stop counting."""
        self._paused_at = time.monotonic()

    def resume(self) -> None:
        """Continue counting."""
        if self._paused_at is not None:
            self._begin += time.monotonic() - self._paused_at
            self._paused_at = None

    def elapsed_s(self) -> float:
        """Elapsed seconds."""
        return (self._paused_at or time.monotonic()) - self._begin


def duration_text(seconds: float) -> str:
    """A duration as text, in seconds, minutes or hours."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    if seconds < 100 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


class WorkerPanel(QWidget):
    """Runs jobs for a widget and shows their progress and errors.

    Users connect to ``worker.progressed``, ``worker.finished`` and ``worker.cancelled``.
    """

    run_clicked = Signal()

    def __init__(self, run_text: str, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        self.worker = Worker(self)
        self.timer = PausableTimer()
        self._remaining = RemainingTime(MIN_TIME_S)
        self.was_paused = False
        self._run_text = run_text
        self.run_while_busy: str | None = None  # text of Run while a job runs; None: it is disabled
        self.run_button = prominent(
            push_button(run_text, "run", f"Start {title}", self.run_clicked.emit)
        )
        self.pause_button = push_button("Pause", "pause", f"Pause {title}", self._toggle_pause)
        self.cancel_button = push_button("Cancel", "cancel", f"Cancel {title}", self.cancel)
        self.bar = QProgressBar()
        self.bar.setObjectName("progress")
        self.bar.setRange(0, BAR_STEPS)
        self.bar.setToolTip(f"Progress of {title}")
        self.status = SteadyLabel("status", "Stage and remaining time", STATUS_LINES)
        self._lay_out()
        self._connect()
        self._enable(False)

    def start(self, job: Job, prepare: Callable[[Any], Any] = lambda result: result) -> None:
        """Start a job; a second one is refused with a message."""
        if self.worker.is_running:
            show_warning(f"{job.title} is already running; wait until it finishes or cancel it.")
            return
        self._title = job.title
        self.timer, self.was_paused = PausableTimer(), False
        self._remaining = RemainingTime(MIN_TIME_S)
        self.bar.setValue(0)
        self.say("Starting...")
        self.worker.start(job, prepare)
        self._enable(True)

    def cancel(self) -> None:
        """Cancel the job; its last previews are kept."""
        if self.worker.is_running:
            self.say("Cancelling...")
            self.worker.cancel()

    def say(self, text: str) -> None:
        """Show a status line below the bar."""
        self.status.setText(text)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(in_row(self.run_button, self.pause_button, self.cancel_button))
        layout.addWidget(self.bar)
        layout.addWidget(self.status)

    def _connect(self) -> None:
        self.worker.progressed.connect(self._show)
        self.worker.note.connect(self._tell)
        self.worker.failed.connect(self._fail)
        self.worker.ended.connect(lambda: self._enable(False))

    def _enable(self, is_running: bool) -> None:
        self.run_button.setEnabled(not is_running or self.run_while_busy is not None)
        self.run_button.setText((self.run_while_busy if is_running else None) or self._run_text)
        self.pause_button.setEnabled(is_running)
        self.cancel_button.setEnabled(is_running)
        self.pause_button.setText("Pause")

    def _toggle_pause(self) -> None:
        if self.worker.is_paused:
            self.worker.resume()
            self.timer.resume()
            self.say("Resumed.")
        else:
            self.worker.pause()
            self.timer.pause()
            self.was_paused = True
            self.say("Paused.")
        self.pause_button.setText("Resume" if self.worker.is_paused else "Pause")

    def _show(self, event: Progress) -> None:
        self.bar.setValue(round(BAR_STEPS * event.fraction))
        if self.worker.is_paused:
            return
        steps = f" {event.step} of {event.total}" if event.total > 1 else ""
        left = self._remaining.estimate_s(self.timer.elapsed_s(), event.fraction)
        self.say(event.stage + steps + ("" if left is None else f", {duration_text(left)} left"))

    def _tell(self, note: Note) -> None:
        (show_warning if note.is_problem else show_info)(note.text)

    def _fail(self, text: str) -> None:
        self.say(text)
        show_error(text)
