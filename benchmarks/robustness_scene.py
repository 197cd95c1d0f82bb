"""A small scene to fit, and child processes that fit and save it and may be killed."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.fitting import Checkpoint, FitSettings, fit
from napari_dpdeblur.results import Result, read_run, write_run
from results_file import add_save_option, save_figures

SIZE = (48, 64)
PARTS = ("all_in_focus", "defocus_map", "confidence", "mpi_color", "mpi_alpha", "defocus_scales")
# Audit events of the disk, between which a save can be interrupted.
FILE_EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod")
REFUSED = 3


@dataclass
class Outcome(ABC):
    """The outcome of all trials; ``broken`` lists the broken promises."""

    broken: list[str] = field(default_factory=list, kw_only=True)

    @abstractmethod
    def summary(self) -> str:
        """The figures as a sentence, without the full stop."""


@dataclass(frozen=True)
class Scene:
    """A capture with the calibration and settings of its fit."""

    capture: DualPixelCapture
    calibration: Calibration
    settings: FitSettings


def small_scene(preset: str = "standard", size: tuple[int, int] = SIZE) -> Scene:
    """A scene that is fitted in a second or less."""
    lens = replace(synthetic_calibration(*size, 1, 1), vignetting=None)
    capture = render_capture(synthetic_scene(*size, seed=3), pixel_aspect=2, seed=3)
    settings = {"preset": preset, "layers": 4, "device": "cpu", "threads": 1}
    return Scene(capture, lens, FitSettings.of(settings))


def fit_and_save(scene: Scene, folder: Path, overwrite: bool = False) -> None:
    """Fit and save as the command `fit --resume` does."""
    checkpoint = Checkpoint(folder.with_name(f"{folder.name}.checkpoint"), resume=True)
    result = fit(scene.capture, scene.calibration, scene.settings, checkpoint=checkpoint)
    write_run(result, folder, overwrite)
    checkpoint.remove()


def in_child(work: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> int:
    """Run ``work`` in a forked child, which needs no imports; returns its process id.

    Its exit status is 0, REFUSED after one of the project's errors, else 1.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        torch.set_num_threads(1)
        cv2.setNumThreads(1)
        prepare()
        work()
        status = 0
    except DpDeblurError as error:
        os.write(2, f"{error}\n".encode())
        status = REFUSED
    finally:
        os._exit(status)


def ended(child: int) -> int:
    """Wait for a child; its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_trials(description: str, unit: str, trials: Callable[[int, Path, int], Outcome]) -> int:
    """Run trials in a scratch folder and print the outcome; 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{unit}", type=int, default=200, help=f"number of {unit}")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpdeblur-") as scratch:
        outcome = trials(getattr(options, unit), Path(scratch), options.seed)
    if options.save:
        figures = {**asdict(outcome), "broken": len(outcome.broken)}
        save_figures(Path(sys.argv[0]).stem, figures)
    if options.json:
        print(json.dumps(asdict(outcome), indent=2))
    else:
        print(f"{outcome.summary()}; {len(outcome.broken)} promises broken")
        print(*outcome.broken, sep="\n")
    return int(bool(outcome.broken))


def die_at_event(number: int, below: Path) -> None:
    """Kill this process, as with kill -9, right before its n-th file operation below a folder."""
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS and any(str(below) in str(a) for a in arguments[:2]):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def count_events(below: Path, report: Path) -> None:
    """Count file operations below a folder in a report file, one byte each."""
    descriptor = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and any(str(below) in str(a) for a in arguments[:2]):
            os.write(descriptor, b".")

    sys.addaudithook(watch)


def difference(first: Result, second: Result) -> float:
    """Largest difference between two results."""
    return max(
        float(np.abs(np.asarray(getattr(first, part)) - getattr(second, part)).max())
        for part in PARTS
    )


def found_run(folder: Path) -> Result | None:
    """The complete run in a folder, None without a folder; anything else raises."""
    return read_run(folder) if folder.exists() else None
