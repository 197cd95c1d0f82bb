"""Worker: a job in a separate process, as Qt signals on the GUI thread."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qtpy.QtCore import QObject, QTimer, Signal

from napari_dpdeblur.jobs.messages import (
    Cancelled,
    Failed,
    Finished,
    Job,
    Message,
    Note,
    Progress,
)
from napari_dpdeblur.jobs.process import JobProcess
from napari_dpdeblur.viewer.shared.gc_pause import pause_full_collection
from napari_dpdeblur.viewer.shared.timers import call_later

_log = logging.getLogger(__name__)

POLL_MS = 40
COLLECT_MS = 500  # after the end, when layers are still being made


class Worker(QObject):
    """Runs one job at a time and reports it by signals, without blocking.

    ``progressed`` gives every :class:`Progress` in order; of pictures that arrived together,
    only the newest are left. After ``finished``, ``failed`` or ``cancelled`` comes ``ended``.
    ``finished`` gives what ``prepare`` made of the result, in a thread. ``cancelled`` gives the
    last pictures: a Progress, or None.
    """

    progressed = Signal(object)
    note = Signal(object)
    finished = Signal(object)
    failed = Signal(str)
    cancelled = Signal(object)
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: JobProcess | None = None
        self._is_paused = False
        self._seen: Progress | None = None
        self._collect_again: Callable[[], None] = lambda: None
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._relay)
        if parent is not None:
            parent.destroyed.connect(_killer_of(self))

    @property
    def is_running(self) -> bool:
        """Whether there is a job, paused or not."""
        return self._process is not None

    @property
    def is_paused(self) -> bool:
        """Whether the job is paused."""
        return self._is_paused

    @property
    def pid(self) -> int | None:
        """Process id of the child."""
        return self._process.pid if self._process else None

    @property
    def seen(self) -> Progress | None:
        """The latest progress and previews of the job."""
        return self._seen

    def start(self, job: Job, prepare: Callable[[Any], Any] = lambda result: result) -> None:
        """Start a job; RuntimeError if one is running."""
        if self._process is not None:
            raise RuntimeError("a job is running")
        self._seen, self._is_paused = None, False
        self._process = JobProcess(job, prepare)
        weakref.finalize(self, self._process.kill)
        self._collect_again = pause_full_collection()
        self._timer.start()

    def pause(self) -> None:
        """Pause the job."""
        if self._process:
            self._is_paused = True
            self._process.pause()

    def resume(self) -> None:
        """Resume the job."""
        if self._process:
            self._is_paused = False
            self._process.resume()

    def cancel(self) -> None:
        """Cancel the job; it ends within a second."""
        if self._process:
            self._process.cancel()

    def kill(self) -> None:
        """Kill the job at once; no signal follows."""
        self._timer.stop()
        process, self._process = self._process, None
        self._collect_again()
        if process:
            process.kill()

    def _relay(self) -> None:
        process = self._process
        for message in _without_old_pictures(process.messages() if process else []):
            if self._process is process:
                self._deliver(message)

    def _deliver(self, message: Message) -> None:
        if isinstance(message, Progress):
            self._seen = _newest(self._seen, message)
            self.progressed.emit(message)
        elif isinstance(message, Note):
            self.note.emit(message)
        else:
            self._end(message)

    def _end(self, message: Message) -> None:
        self._timer.stop()
        self._process, self._is_paused = None, False
        if isinstance(message, Finished):
            self.finished.emit(message.result)
        elif isinstance(message, Cancelled):
            self.cancelled.emit(self._seen)
        elif isinstance(message, Failed):
            if message.details:
                _log.error(message.details)
            self.failed.emit(message.text)
        self.ended.emit()
        call_later(self._collect_again, COLLECT_MS)


_killers: set[Callable[[], None]] = set()


def _killer_of(worker: Worker) -> Callable[[], None]:
    """A function that kills the child process when Qt deletes the worker's parent.

    It holds the plain dict of the worker, which outlives its Qt part, and is itself held here:
    Python may clear everything that only the dying widget holds before Qt calls it.
    """
    attributes = worker.__dict__

    def kill() -> None:
        process, attributes["_process"] = attributes.get("_process"), None
        attributes["_collect_again"]()
        _killers.discard(kill)
        if process is not None:
            process.kill()

    _killers.add(kill)
    return kill


def _without_old_pictures(messages: list[Message]) -> list[Message]:
    """Drop previews that a later message of the same batch replaces."""
    kept: list[Message] = []
    later_image = later_map = False
    for message in reversed(messages):
        if isinstance(message, Progress):
            image, defocus_map = message.all_in_focus, message.defocus_map
            message = replace(
                message,
                all_in_focus=None if later_image else image,
                defocus_map=None if later_map else defocus_map,
            )
            later_image |= image is not None
            later_map |= defocus_map is not None
        kept.append(message)
    return kept[::-1]


def _newest(before: Progress | None, now: Progress) -> Progress:
    """The latest step with the latest preview of each kind."""
    if before is None:
        return now
    image = before.all_in_focus if now.all_in_focus is None else now.all_in_focus
    defocus_map = before.defocus_map if now.defocus_map is None else now.defocus_map
    return replace(now, all_in_focus=image, defocus_map=defocus_map)
