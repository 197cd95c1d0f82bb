"""Fuzzing of every reader: only the project's own errors, no hang, no large allocation.

    python benchmarks/robustness_fuzz.py [--count 20000] [--readers NAME ...] [--seed 0] [--save]

Each reader runs in a separate process that cannot allocate more than 1 GB beyond what the program
itself uses. The last line gives the number of files that broke a promise; they are kept in the
printed folder.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import robustness_seeds as seeds
from napari_dpdeblur.errors import DpDeblurError
from results_file import add_save_option, save_figures
from robustness_mutate import damaged

MAX_S = 2.0
MAX_BYTES = 1_000_000_000
STUCK_S = 60


@dataclass(frozen=True)
class Reader:
    """How to write valid files, and how to read them."""

    make: Callable[[Path], object]
    read: Callable[[Path], object]


@dataclass
class Outcome:
    """The outcome for all files of one reader."""

    reader: str
    files: int = 0
    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    peak_gb: float = 0.0
    broken: list[str] = field(default_factory=list)

    def row(self) -> str:
        return (
            f"{self.reader:<20}{self.files:>8}{self.read:>8}{self.refused:>9}"
            f"{self.slowest_s:>10.2f}{self.peak_gb:>9.2f}{len(self.broken):>8}"
        )


HEADING = (
    f"{'reader':<20}{'files':>8}{'read':>8}{'refused':>9}{'slowest s':>10}{'peak GB':>9}"
    f"{'broken':>8}"
)


def read_capture(folder: Path) -> None:
    from napari_dpdeblur.capture import looks_like_capture, open_capture

    for path in folder.rglob("*"):
        looks_like_capture(path)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    capture = open_capture(*files)
    capture.with_square_pixels().describe()


def read_calibration(folder: Path) -> None:
    from napari_dpdeblur.calibration import load_calibration
    from napari_dpdeblur.calibration.report.picture import calibration_picture
    from napari_dpdeblur.calibration.verdict import verdict_lines

    path = folder / "a.dpcal"
    calibration = load_calibration(path if path.exists() else folder)
    calibration.describe()
    if path.exists():  # what is read can be drawn
        calibration_picture(calibration)
        verdict_lines(calibration.verdict or {})


def read_run_folder(folder: Path) -> None:
    from napari_dpdeblur.results import read_run

    read_run(folder)


def read_full_run(folder: Path) -> None:
    from napari_dpdeblur.results import read_run

    result = read_run(folder)
    result.picture()
    if result.capture is not None:
        result.capture.with_square_pixels().describe()


def read_photos(folder: Path) -> None:
    from napari_dpdeblur.capture.photo import open_photo

    for path in sorted(folder.iterdir()):
        open_photo(path)


def read_tiffs(folder: Path) -> None:
    from napari_dpdeblur.results import read_image, read_mpi

    read_mpi(folder)
    read_image(folder / "all_in_focus.tif")


def read_settings(folder: Path) -> None:
    from napari_dpdeblur.fitting.settings import FitSettings

    FitSettings.read(folder / "settings.yaml")


def read_checkpoint(folder: Path) -> None:
    import torch

    from napari_dpdeblur.fitting import Checkpoint

    checkpoint = Checkpoint(folder / "run.checkpoint", resume=True)
    checkpoint.load(seeds.CHECKPOINT_SIGNATURE, torch.device("cpu"))


def read_target(folder: Path) -> None:
    from napari_dpdeblur.calibration.target.pattern import load_target

    target = load_target(folder / "target.json")
    # What is read can be used.
    corners = np.array([[0.0, 0.0], target.screen_px, target.centres_px[-1, -1]])
    if not np.isfinite(target.signed_distance_px(corners)).all():
        raise ValueError("a distance is not finite")


def read_truth(folder: Path) -> None:
    from napari_dpdeblur.evaluation.ground_truth import load_defocus, load_sharp

    load_sharp(folder / "sharp.png")
    load_sharp(folder / "sharp.tif")
    load_defocus(folder / "defocus.png")


def read_index(folder: Path) -> None:
    from napari_dpdeblur.batch.index import read_index

    read_index(folder)


READERS = {
    "app-pair": Reader(seeds.app_pair, read_capture),
    "png-pair": Reader(seeds.published_pair, read_capture),
    "portrait-pair": Reader(seeds.portrait_pair, read_capture),
    "colour-pair": Reader(seeds.colour_pair, read_capture),
    "jpeg-pair": Reader(seeds.jpeg_pair, read_capture),
    "picture-pair": Reader(seeds.picture_pair, read_capture),
    "raw": Reader(seeds.raw_file, read_capture),
    "calibration-file": Reader(seeds.calibration_file, read_calibration),
    "calibration-folder": Reader(seeds.calibration_folder, read_calibration),
    "run-folder": Reader(seeds.small_run, read_run_folder),
    "full-run-folder": Reader(seeds.full_run, read_full_run),
    "photo": Reader(seeds.photo_files, read_photos),
    "tiff": Reader(seeds.small_run, read_tiffs),
    "settings": Reader(seeds.settings_file, read_settings),
    "checkpoint": Reader(seeds.checkpoint_file, read_checkpoint),
    "target": Reader(seeds.target_file, read_target),
    "ground-truth": Reader(seeds.ground_truth, read_truth),
    "batch-index": Reader(seeds.batch_index, read_index),
}
READ_FIRST = {"tiff": "*.tif", "run-folder": "*.[ty]*"}


def fuzz(name: str, count: int, scratch: Path, seed: int = 0) -> Outcome:
    """Damage the valid files of a reader one at a time, and read them."""
    reader = READERS[name]
    folder = scratch / name
    reader.make(folder)
    pattern = READ_FIRST.get(name, "*")
    good = {p: p.read_bytes() for p in sorted(folder.rglob(pattern)) if p.is_file()}
    outcome = Outcome(name)
    if name != "raw":  # no real one can be part of the project
        reader.read(folder)
    before = _peak_bytes()
    for number in range(count):
        path = list(good)[number % len(good)]
        other = list(good.values())[(number // len(good)) % len(good)]
        path.write_bytes(damaged(good[path], other, f"{name} {seed} {number}"))
        _try(reader, folder, outcome, before, scratch, path)
        path.write_bytes(good[path])
    outcome.peak_gb = (_peak_bytes() - before) / 1e9
    return outcome


def _try(
    reader: Reader, folder: Path, outcome: Outcome, before: int, scratch: Path, path: Path
) -> None:
    outcome.files += 1
    start = time.perf_counter()
    reason = None
    try:
        reader.read(folder)
        outcome.read += 1
    except DpDeblurError as error:
        outcome.refused += 1
        if _came_from(error, MemoryError):
            reason = "tried to allocate more than 1 GB"
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
    elapsed_s = time.perf_counter() - start
    outcome.slowest_s = max(outcome.slowest_s, elapsed_s)
    if elapsed_s > MAX_S:
        reason = f"took {elapsed_s:.1f} s"
    if _peak_bytes() - before > MAX_BYTES:
        reason = "used more than 1 GB"
    if reason is not None:
        kept = scratch / f"broken-{outcome.reader}-{outcome.files}{path.suffix}"
        kept.write_bytes(path.read_bytes())
        outcome.broken.append(f"{kept}: {reason[:200]}")


def _came_from(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_memory() -> None:
    """Limit this process to 1 GB beyond what it has mapped already."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MAX_BYTES, mapped + MAX_BYTES))


def _in_process(name: str, count: int, scratch: Path, seed: int, answers: object) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # image decoders print a warning for every damaged byte
    faulthandler.dump_traceback_later(STUCK_S * 60, exit=True)
    warnings.simplefilter("ignore")
    import torch  # noqa: F401 (before memory is limited)

    import napari_dpdeblur.calibration.run
    import napari_dpdeblur.results  # noqa: F401

    limit_memory()
    answers.send(fuzz(name, count, scratch, seed))  # type: ignore[attr-defined]


def fuzz_apart(name: str, count: int, scratch: Path, seed: int = 0) -> Outcome:
    """Fuzz in a separate process; a crash of it is an outcome, too."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_in_process, args=(name, count, scratch, seed, sender))
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        process.join()
        outcome = Outcome(name, broken=[f"{scratch}: the process ended with {process.exitcode}"])
    process.join()
    return outcome  # type: ignore[no-any-return]


def _numbers(outcome: Outcome) -> dict[str, object]:
    return {**asdict(outcome), "broken": len(outcome.broken)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per reader; 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description="Fuzzing of every reader.")
    parser.add_argument("--count", type=int, default=20_000, help="files per reader")
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    scratch = Path(tempfile.mkdtemp(prefix="dpdeblur-fuzz-", dir=memory))
    if not options.json:
        print(f"files that break a promise are kept in {scratch}\n{HEADING}", flush=True)
    outcomes = []
    for name in options.readers:
        outcomes.append(fuzz_apart(name, options.count, scratch, options.seed))
        if not options.json:
            print(outcomes[-1].row(), *outcomes[-1].broken[:5], sep="\n  ", flush=True)
    if options.save:
        whole = {"peak_gb": max(outcome.peak_gb for outcome in outcomes)}
        figures = {outcome.reader: _numbers(outcome) for outcome in outcomes}
        save_figures("robustness_fuzz", {**figures, "all_readers": whole})
    if options.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    broken = sum(len(outcome.broken) for outcome in outcomes)
    if not options.json:
        print(f"{sum(o.files for o in outcomes)} files, {broken} broke a promise")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
