"""A small scene to fit, and children that fit and save it and may die at any moment."""

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

SIZE = (48, 64)
PARTS = ("all_in_focus", "defocus_map", "confidence", "mpi_color", "mpi_alpha", "defocus_scales")
# What touches the disk: the moments between which a save can be cut off.
FILE_EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod")
REFUSED = 3


@dataclass
class Outcome(ABC):
    """What was found after all trials; ``broken`` names the promises that were not kept."""

    broken: list[str] = field(default_factory=list, kw_only=True)

    @abstractmethod
    def summary(self) -> str:
        """The figures in a sentence without its end."""


@dataclass(frozen=True)
class Scene:
    """What is fitted."""

    capture: DualPixelCapture
    calibration: Calibration
    settings: FitSettings


def small_scene(preset: str = "standard", size: tuple[int, int] = SIZE) -> Scene:
    """Quick to fit: a second or less."""
    lens = replace(synthetic_calibration(*size, 1, 1), vignetting=None)
    capture = render_capture(synthetic_scene(*size, seed=3), pixel_aspect=2, seed=3)
    settings = {"preset": preset, "layers": 4, "device": "cpu", "threads": 1, "image_rounds": 3}
    return Scene(capture, lens, FitSettings.of({**settings, "image_steps": 2}))


def fit_and_save(scene: Scene, folder: Path, overwrite: bool = False) -> None:
    """What the command `fit --resume` does."""
    checkpoint = Checkpoint(folder.with_name(f"{folder.name}.checkpoint"), resume=True)
    result = fit(scene.capture, scene.calibration, scene.settings, checkpoint=checkpoint)
    write_run(result, folder, overwrite)
    checkpoint.remove()


def in_child(work: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> int:
    """Start a forked child: no import takes time there. Returns its process number.

    It ends with 0, with REFUSED after one of the project's errors, else with 1.
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
    """Wait; the exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_trials(description: str, unit: str, trials: Callable[[int, Path, int], Outcome]) -> int:
    """The command of a script: so many trials in a scratch folder, printed; 1 if any broke."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{unit}", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dpdeblur-") as scratch:
        outcome = trials(getattr(options, unit), Path(scratch), options.seed)
    if options.json:
        print(json.dumps(asdict(outcome), indent=2))
    else:
        print(f"{outcome.summary()}; {len(outcome.broken)} promises broken")
        print(*outcome.broken, sep="\n")
    return int(bool(outcome.broken))


def die_at_event(number: int, below: Path) -> None:
    """Kill this process, as with kill -9, right before its n-th operation below a folder."""
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS and any(str(below) in str(a) for a in arguments[:2]):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def count_events(below: Path, report: Path) -> None:
    """Keep the number of such operations in a file, one byte each."""
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
    """The complete run in a folder, None when there is no folder; anything else raises."""
    return read_run(folder) if folder.exists() else None
