"""`batch`: fit many captures, on this computer or on a dask cluster."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.cli.arguments import (
    add_fit_arguments,
    add_json_argument,
    add_level_arguments,
    count_argument,
    given_levels,
    given_settings,
    print_result,
    tell,
)
from napari_dpdeblur.cli.lens import add_lens_argument, estimated_lens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from napari_dpdeblur.batch import Index, Plan
    from napari_dpdeblur.batch.work import Report
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.fitting.settings import FitSettings


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "batch",
        help="fit many captures, on this computer or on a cluster",
        description="Fit every capture in the given folders. Each gets a run folder in the output "
        "folder; index.json lists their status. After an interruption, the same command resumes; "
        "finished captures are skipped. Without a calibration, captures are grouped by camera and "
        "size, and one lens is estimated for each group and stored in the output folder.",
    )
    parser.add_argument(
        "captures", nargs="+", type=Path, metavar="FOLDER", help="folders with captures"
    )
    add_lens_argument(parser, "estimate one lens for each camera and size")
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
    parser.add_argument(
        "--photos",
        type=Path,
        metavar="FOLDER",
        help="folder with colour photos named after their captures: NAME.jpg or NAME_photo.jpg "
        "(also .png, .tif, .dng); captures without one stay grey",
    )
    add_fit_arguments(parser)
    add_level_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Plan, connect, fit, print."""
    from napari_dpdeblur.batch import make_plan
    from napari_dpdeblur.errors import ResultError

    settings = given_settings(arguments)
    summaries, failures, asked = [], [], 0
    for captures, calibration in _parts(arguments):
        plan = make_plan(
            captures,
            calibration,
            arguments.output,
            settings,
            **given_levels(arguments),
            photos=arguments.photos,
        )
        _tell_photos(plan, arguments.photos)
        index = _finished(plan, settings, arguments)
        failures += [e for e in index.captures if e.status == "failed" and e.key in plan.asked]
        summaries.append(_summary(plan, index))
        asked += len(plan.asked)
    print_result(_total(summaries), arguments.json)
    if failures:
        raise ResultError(
            f"{len(failures)} of {asked} captures failed. The first error: "
            f"{failures[0].message} All errors are listed in {arguments.output / 'index.json'}."
        )


def _tell_photos(plan: Plan, photos: Path | None) -> None:
    """Tell how many captures have a photo, because a wrong name would go unnoticed."""
    if photos is None:
        return
    asked = [entry for entry in plan.entries if entry.key in plan.asked]
    found = sum(entry.photo is not None for entry in asked)
    tell(f"{found} of {len(asked)} captures have a photo in {photos}.")


def _finished(plan: Plan, settings: FitSettings, arguments: argparse.Namespace) -> Index:
    """The index once everything that is pending has been computed."""
    from napari_dpdeblur.batch.index import Index

    if not plan.pending:
        return Index(captures=plan.entries)
    try:
        return _computed(plan, settings, arguments)
    except KeyboardInterrupt:
        _tell_what_was_kept(plan)
        raise


def _parts(arguments: argparse.Namespace) -> Iterator[tuple[list[Path], Path]]:
    """Captures with their calibration: all with the given one, or each group with its lens."""
    if arguments.calibration is not None:
        yield arguments.captures, arguments.calibration
        return
    from napari_dpdeblur.batch.lenses import first_files, group_captures, group_lens
    from napari_dpdeblur.batch.plan import check_batch_output

    output = arguments.output.absolute()
    check_batch_output(output)
    levels = given_levels(arguments)
    groups = group_captures(arguments.captures, **levels)
    for group in groups:
        path = group.lens_file(output)
        if path.exists():
            tell(f"using the lens {path.name} of an earlier batch.")
        else:
            number = len(group.chosen)
            origin = "1 capture" if number == 1 else f"{number} captures"
            tell(f"no calibration was given: estimating {path.name} from {origin}.")
        estimate = partial(_estimate, is_quiet=arguments.json)
        yield first_files(group.captures), group_lens(group, output, estimate, **levels)


def _estimate(captures: list[DualPixelCapture], path: Path, is_quiet: bool) -> Calibration:
    """Estimate the lens of a group and store it; an interrupted estimate is resumed."""
    from napari_dpdeblur.calibration.kept_estimate import checkpoint_of

    lens = estimated_lens(captures, is_quiet=is_quiet, kept=path, resume=True)
    checkpoint_of(path).unlink(missing_ok=True)
    tell(f"verdict on {path.name}: {(lens.verdict or {}).get('grade', 'none')}.")
    return lens


def _tell_what_was_kept(plan: Plan) -> None:
    """Write and print what is finished, once no worker is left that could finish more."""
    from napari_dpdeblur.batch.run import update_index

    asked = [entry for entry in update_index(plan).captures if entry.key in plan.asked]
    done = sum(entry.status == "done" for entry in asked)
    tell(
        f"{done} of {len(asked)} captures are finished and were kept in {plan.output}; start the "
        "same command again to continue."
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


def _total(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """The summaries of all groups as one."""
    first = summaries[0]
    counts = {name: sum(one[name] for one in summaries) for name in first if name != "folder"}
    return {"folder": first["folder"], **counts}
