"""`batch`: fit many captures, on this computer or on a dask cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import (
    add_calibration_argument,
    add_fit_arguments,
    add_json_argument,
    add_level_arguments,
    count_argument,
    given_levels,
    given_settings,
    print_result,
    tell,
)

if TYPE_CHECKING:
    from napari_dpdeblur.batch import Index, Plan
    from napari_dpdeblur.batch.work import Report
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.fitting.settings import FitSettings


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "batch",
        help="fit many captures, on this computer or on a cluster",
        description="Fit every capture in the given folders. Each gets a run folder in the output "
        "folder; index.json lists their status. After an interruption, the same command resumes; "
        "finished captures are skipped.",
    )
    parser.add_argument(
        "captures", nargs="+", type=Path, metavar="FOLDER", help="folders with captures"
    )
    add_calibration_argument(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the run folders"
    )
    parser.add_argument(
        "--scheduler",
        default="local",
        metavar="ADDRESS",
        help="dask scheduler, such as tcp://10.0.0.1:8786 (default: local, this computer)",
    )
    parser.add_argument(
        "--workers",
        type=count_argument,
        metavar="N",
        help="local worker processes (default: as many as cores and memory allow)",
    )
    add_fit_arguments(parser)
    add_level_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Plan, connect, fit, print."""
    from napari_dpdeblur.batch import Index, make_plan
    from napari_dpdeblur.errors import ResultError

    settings = given_settings(arguments)
    plan = make_plan(
        arguments.captures,
        arguments.calibration,
        arguments.output,
        settings,
        **given_levels(arguments),
    )
    index = _computed(plan, settings, arguments) if plan.pending else Index(captures=plan.entries)
    failures = [e for e in index.captures if e.status == "failed" and e.key in plan.asked]
    print_result(_summary(plan, index), arguments.json)
    if failures:
        raise ResultError(
            f"{len(failures)} of {len(plan.asked)} captures failed. The first error: "
            f"{failures[0].message} All errors are listed in {plan.output / 'index.json'}."
        )


def _computed(plan: Plan, settings: FitSettings, arguments: argparse.Namespace) -> Index:
    from tqdm import tqdm

    from napari_dpdeblur.batch.cluster import LOCAL, connected, local_workers, threads_each
    from napari_dpdeblur.batch.run import run_plan

    pending = plan.pending
    threads, workers = settings.threads, 0
    where = arguments.scheduler
    if arguments.scheduler == LOCAL:
        workers = local_workers(arguments.workers, plan.memory_bytes, settings, len(pending))
        threads = threads_each(settings, workers)
        if workers < (arguments.workers or 1):
            tell(f"a GPU fits one capture at a time: using 1 worker, not {arguments.workers}.")
        number = "1 worker" if workers == 1 else f"{workers} workers"
        where = f"{number}, about {plan.memory_bytes / 1e9:.1f} GB each"
    with (
        tqdm(total=len(pending), desc=where, unit="capture", disable=arguments.json) as bar,
        connected(arguments.scheduler, workers) as client,
    ):
        if arguments.scheduler != LOCAL:
            _tell_if_without_workers(client, arguments.scheduler)
        failed = 0

        def show(report: Report) -> None:
            nonlocal failed
            failed += report.failure is not None
            bar.set_postfix_str(f"{failed} failed" if failed else "")
            bar.update()

        return run_plan(plan, client, threads, show)


def _tell_if_without_workers(client: Any, address: str) -> None:
    from napari_dpdeblur.batch.cluster import has_workers

    if not has_workers(client):
        tell(
            f"waiting for workers, because the scheduler at {address} has none; start one with "
            f"`dask worker {address}`."
        )


def _summary(plan: Plan, index: Index) -> dict[str, Any]:
    asked = [entry for entry in index.captures if entry.key in plan.asked]
    done = sum(entry.status == "done" for entry in asked)
    return {
        "folder": str(plan.output),
        "captures": len(asked),
        "computed": done - sum(e.status == "done" for e in plan.entries if e.key in plan.asked),
        "finished_before": sum(e.status == "done" for e in plan.entries if e.key in plan.asked),
        "failed": sum(entry.status == "failed" for entry in asked),
    }
