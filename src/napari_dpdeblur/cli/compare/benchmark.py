"""`benchmark`: compare methods on scenes with ground truth, as tables and a web page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import (
    add_json_argument,
    add_optics_arguments,
    add_sign_arguments,
    count_argument,
    given_optics,
    print_result,
    tell,
)
from napari_dpdeblur.cli.lens import estimated_lens
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.registry import BASELINES

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cli.arguments import Subparsers
    from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
    from napari_dpdeblur.evaluation.comparison.estimated_lens import EstimatedLenses
    from napari_dpdeblur.evaluation.comparison.methods import NamedMethod
    from napari_dpdeblur.evaluation.comparison.result_store import Row


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "benchmark",
        help="compare methods on scenes with ground truth",
        description="Run methods on all scenes of a folder in the published layout (NNN_left.png, "
        "NNN_right.png, calibration/, gt_all_in_focus_im/, gt_defocus_map/ or gt_depth/), or of a "
        "folder with one folder for each capture (l.png, r.png and d.png or depth_mm.png, as "
        "`fetch canon-r6` writes them), and write table.csv, table.md and report.html. Images are "
        "scored twice: each scene aligned with its truth, and all aligned by the transform of one "
        "scene, as published. Existing results are reused.",
    )
    add_data_arguments(parser)
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help=f"baselines: {', '.join(BASELINES)}; presets: preview, standard, paper; a preset with "
        "a lens that is estimated from the capture or from up to eight scenes: standard@one, "
        "standard@several (default: baselines, preview, standard and, with a calibration, "
        "standard@one and standard@several)",
    )
    add_pair_argument(parser, "--images", "FOLDER", "all-in-focus images of another program")
    add_pair_argument(parser, "--maps", "FOLDER", "defocus maps of another program")
    add_pair_argument(parser, "--onnx", "FILE", "network in the ONNX format")
    parser.set_defaults(run=run)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what all comparisons need: data, output, calibration, scenes."""
    parser.add_argument("data", type=Path, metavar="DATA", help="folder in the published layout")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="REPORT", help="folder for the report"
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="CAL",
        help="calibration file or folder (default: DATA/calibration)",
    )
    parser.add_argument(
        "--estimate-lens",
        action="store_true",
        help="estimate one lens from the scenes, at most eight of them, and keep it in REPORT as "
        "lens.dpcal",
    )
    add_sign_arguments(parser)
    add_optics_arguments(parser)
    parser.add_argument("--scenes", nargs="+", metavar="NAME", help="only these scenes")
    parser.add_argument(
        "--align-scene",
        metavar="NAME",
        help="scene whose alignment is used for all scenes in the columns (one) (default: the "
        "first)",
    )
    parser.add_argument("--threads", type=count_argument, metavar="N", help="CPU threads to use")
    add_json_argument(parser)


def add_pair_argument(
    parser: argparse.ArgumentParser, option: str, value: str, description: str
) -> None:
    """Add an option that may be repeated, as NAME=PATH."""
    parser.add_argument(
        option,
        action="append",
        default=[],
        type=_named_path,
        metavar=f"NAME={value}",
        help=f"{description}, shown as row NAME; may be repeated",
    )


def _named_path(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    if not (name.strip() and separator and path.strip()):
        raise argparse.ArgumentTypeError(f"must be NAME=PATH, not {text!r}")
    return name.strip(), Path(path.strip())


def run(arguments: argparse.Namespace) -> None:
    """Run, score, write."""
    from napari_dpdeblur.evaluation.comparison import published

    methods = _methods(arguments)
    compare(arguments, methods, published.COMPARISON, "Comparison of methods")


def _methods(arguments: argparse.Namespace) -> list[NamedMethod]:
    from napari_dpdeblur.evaluation.comparison import methods
    from napari_dpdeblur.evaluation.comparison.estimated_lens import AT, estimated_lens_method

    with_estimate = () if arguments.estimate_lens else methods.ESTIMATED_METHODS
    names = arguments.methods or (*methods.DEFAULT_METHODS, *with_estimate)
    lenses = _lenses(arguments)
    chosen = [
        estimated_lens_method(name, lenses) if AT in name else methods.known_method(name)
        for name in names
    ]
    images, maps = dict(arguments.images), dict(arguments.maps)
    for name in dict.fromkeys([*images, *maps]):
        chosen.append(methods.external_method(name, images.get(name), maps.get(name)))
    return chosen + [methods.onnx_method(name, path) for name, path in arguments.onnx]


def _lenses(arguments: argparse.Namespace) -> EstimatedLenses:
    from napari_dpdeblur.evaluation.comparison.estimated_lens import EstimatedLenses
    from napari_dpdeblur.evaluation.comparison.scenes import find_scenes

    scenes = arguments.scenes or find_scenes(arguments.data)
    return EstimatedLenses(arguments.data, scenes, arguments.output, _optics(arguments))


def _optics(arguments: argparse.Namespace) -> dict[str, float]:
    """The optics that were given."""
    given = given_optics(arguments)
    return {name: value for name, value in given.items() if value is not None}


def compare(
    arguments: argparse.Namespace,
    methods: list[NamedMethod],
    known: dict[str, dict[str, float]],
    title: str,
    plots: Mapping[str, Callable[[Sequence[Row]], str]] | None = None,
) -> None:
    """Run methods on the data that the arguments name, write tables, report and plots."""
    from napari_dpdeblur.evaluation.comparison import one_alignment, scenes
    from napari_dpdeblur.evaluation.comparison.write import write_comparison

    names = arguments.scenes or scenes.find_scenes(arguments.data)
    one_alignment.check_align_scene(arguments.align_scene, names)
    benchmark = _benchmark(arguments, methods, names)
    benchmark.store.make_folder()
    _limit_threads(arguments.threads)
    rows = _rows_with_bar(benchmark, arguments.json)
    rows = one_alignment.with_one_alignment(benchmark, rows, arguments.align_scene)
    drawn = {name: plot(rows) for name, plot in (plots or {}).items()}
    # The published rows are of other data than measured depth.
    has_depth = any(scenes.scene_depth(arguments.data, name) is not None for name in names)
    files = write_comparison(benchmark, rows, {} if has_depth else known, title, drawn)
    failed = [
        f"{row.label}, scene {row.scene}: {' '.join(row.problems)}" for row in rows if row.problems
    ]
    result = {"folder": str(arguments.output), "files": files, "rows": len(rows)}
    print_result({**result, "failed": failed}, arguments.json)
    if failed:
        raise EvaluationError(
            f"{len(failed)} of {len(rows)} rows failed or are incomplete; the reasons are listed "
            f"in {arguments.output / 'table.md'}."
        )


def _benchmark(
    arguments: argparse.Namespace, methods: list[NamedMethod], scenes: Sequence[str]
) -> Benchmark:
    """The benchmark with the given or estimated lens."""
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
    from napari_dpdeblur.evaluation.comparison.result_store import ResultStore
    from napari_dpdeblur.evaluation.comparison.scenes import central_crop

    store, crop = ResultStore(arguments.output), getattr(arguments, "crop", None)
    if arguments.estimate_lens:
        store.make_folder()
        calibration = _estimated(arguments, scenes)
        crop = crop or central_crop(arguments.data, scenes, calibration)
    else:
        calibration = load_calibration(_calibration(arguments))
    optics = _optics(arguments)
    return Benchmark(
        arguments.data, calibration, methods, scenes, store, crop, arguments.sign, optics
    )


def _calibration(arguments: argparse.Namespace) -> Path:
    default: Path = arguments.data / "calibration"
    if arguments.calibration is None and not default.exists():
        raise EvaluationError(
            f"The data folder {arguments.data} has no folder calibration; use --calibration CAL "
            "or --estimate-lens."
        )
    return arguments.calibration or default


def _estimated(arguments: argparse.Namespace, scenes: Sequence[str]) -> Calibration:
    """The lens of the scenes, estimated once for a report."""
    from napari_dpdeblur.evaluation.comparison.estimated_lens import LENS_FILE, EstimatedLenses

    lenses = EstimatedLenses(arguments.data, scenes, arguments.output, _optics(arguments))
    captures, kept = lenses.captures, arguments.output / LENS_FILE
    lens = estimated_lens(captures, is_quiet=arguments.json, kept=kept, resume=True)
    tell(f"the lens was estimated from {len(captures)} of the scenes.")
    return lens


def _limit_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def _rows_with_bar(benchmark: Benchmark, quiet: bool) -> list[Row]:
    """Compute all rows, with a progress bar that names the current one."""
    from tqdm import tqdm

    rows: list[Row] = []
    with tqdm(total=benchmark.total, unit="row", disable=quiet) as bar:
        for row in benchmark.rows(lambda next_row: bar.set_description(_title(next_row))):
            rows.append(row)
            bar.update()
            if row.problems and not quiet:
                bar.write(f"failed: {row.label}, scene {row.scene}: {' '.join(row.problems)}")
    return rows


def _title(row: Row) -> str:
    return f"scene {row.scene}, {row.method}"
