"""Run a plan on a cluster and keep the index up to date."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from napari_dpdeblur.batch.index import Entry, Index, Status, read_index, write_index
from napari_dpdeblur.batch.plan import CHECKPOINTS, Plan
from napari_dpdeblur.batch.work import Report, Task, fit_one, is_finished
from napari_dpdeblur.errors import ResultError

INDEX_EVERY_S = 1.0


def run_plan(
    plan: Plan,
    client: Any,
    threads: int | None = None,
    on_report: Callable[[Report], None] = lambda report: None,
) -> Index:
    """Fit the pending captures on the workers of a dask client; returns the final index.

    ``on_report`` is called for every capture. After an interruption, the index and all finished
    runs are complete, and the same plan can be resumed.
    """
    entries = dict(enumerate(plan.entries))
    _begin(plan, entries)
    written = time.monotonic()
    try:
        for report in _reports(plan, client, threads):
            _note(entries, report)
            on_report(report)
            if time.monotonic() - written > INDEX_EVERY_S:
                write_index(plan.output, _index(entries))
                written = time.monotonic()
    finally:
        _note_finished(plan, entries)
        index = _index(entries)
        write_index(plan.output, index)
    _tidy(plan)
    return index


def update_index(plan: Plan) -> Index:
    """Write an index with all runs that are finished now; for use after an interruption."""
    entries = dict(enumerate(read_index(plan.output).captures))
    _note_finished(plan, entries)
    index = _index(entries)
    write_index(plan.output, index)
    return index


def _note_finished(plan: Plan, entries: dict[int, Entry]) -> None:
    """Note runs that are complete although no report of them has arrived."""
    for number, entry in entries.items():
        folder = plan.output / entry.folder
        if entry.status == "waiting" and is_finished(folder, entry.key):
            entries[number] = entry.after("done")


def _begin(plan: Plan, entries: dict[int, Entry]) -> None:
    try:
        plan.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(
            f"The output folder {plan.output} cannot be created: {error.strerror or error}."
        ) from error
    write_index(plan.output, _index(entries))


def _reports(plan: Plan, client: Any, threads: int | None) -> Any:
    """Submit every pending capture; yields reports as they arrive.

    Dask itself retries the captures of a lost worker, at most three times.
    """
    distributed: Any = import_module("distributed")
    tasks = [_task(plan, entry, threads) for entry in plan.pending]
    # Never reuse an earlier result of the scheduler: the files decide.
    futures = client.map(fit_one, tasks, pure=False, retries=0)
    keys = {future.key: task.key for future, task in zip(futures, tasks, strict=True)}
    names = {task.key: task.name for task in tasks}
    try:
        for future in distributed.as_completed(futures):
            key = keys[future.key]
            done = future.status == "finished"
            yield future.result() if done else Report(key, _reason(future, names[key]), 0.0)
    finally:
        client.cancel(futures)


def _reason(future: Any, name: str) -> str:
    """Why dask has no report for a capture; errors within a fit are reports."""
    distributed: Any = import_module("distributed")
    if future.status != "error":  # cancelled, or lost together with the scheduler
        return (
            f"The fit of {name} was {future.status} by the dask scheduler; start the batch again "
            "to resume it."
        )
    error = future.exception()
    if isinstance(error, distributed.scheduler.KilledWorker):
        return (
            f"The workers that fitted {name} died repeatedly, perhaps because they ran out of "
            "memory; use fewer workers, a crop or fewer layers."
        )
    if isinstance(error, ImportError):
        return (
            f"{name} was not fitted because a package is missing on a worker ({error}); install "
            "napari-dpdeblur and its dependencies there."
        )
    words = " ".join(str(error).split())  # dask messages have several lines
    return f"{name} was not fitted because dask failed: {type(error).__name__}: {words}"


def _task(plan: Plan, entry: Entry, threads: int | None) -> Task:
    conditions = plan.conditions
    if threads is not None:
        conditions = replace(conditions, settings={**conditions.settings, "threads": threads})
    output = str(plan.output)
    return Task(entry.key, entry.name, entry.files, output, entry.folder, conditions, entry.photo)


def _note(entries: dict[int, Entry], report: Report) -> None:
    status: Status = "done" if report.failure is None else "failed"
    for number, entry in entries.items():
        if entry.key == report.key:
            entries[number] = entry.after(status, report.failure or "", report.elapsed_s)


def _index(entries: dict[int, Entry]) -> Index:
    return Index(captures=tuple(entries.values()))


def _tidy(plan: Plan) -> None:
    """Remove the folder of checkpoints if it is empty."""
    with suppress(OSError):
        (plan.output / CHECKPOINTS).rmdir()
