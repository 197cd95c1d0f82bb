"""A disk that is full at a random write.

    python benchmarks/robustness_disk.py [--trials 200] [--seed 0] [--json] [--save]

A child process writes a run, a checkpoint, a calibration, an index or an export (PNG, TIFF, movie,
focus stack), or fits and saves, with a random amount of free space: on a tmpfs of 4 MB where
mounting is allowed, otherwise under a limit on file size. Either it succeeds, or it fails with one
message and leaves existing files unchanged. With enough space the same work succeeds.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked children have no threads of OpenMP

import cv2
import numpy as np
import tifffile
import torch
from PIL import Image

import robustness_scene as scenes
import robustness_seeds as seeds
from napari_dpdeblur.batch.index import Index, read_index, write_index
from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.fitting import Checkpoint
from napari_dpdeblur.fitting.checkpoint import FitState
from napari_dpdeblur.results import export, movie, read_run

DISK_BYTES = 4_000_000
LARGEST_BYTES = 300_000
FRAMES = 3  # of a movie; the same array is a picture with three colours


@dataclass
class Outcome(scenes.Outcome):
    """The number of successful and refused writes."""

    file_system: str
    trials: int = 0
    went_well: int = 0
    refused: int = 0

    def summary(self) -> str:
        """The figures as a sentence, without the full stop."""
        return (
            f"{self.trials} trials on {self.file_system}: {self.went_well} succeeded, "
            f"{self.refused} were refused with a message"
        )


@dataclass(frozen=True)
class Work:
    """How to write something, and how to read it back."""

    write: Callable[[Path], object]
    read: Callable[[Path], object]


def _save_state(disk: Path) -> None:
    values = torch.from_numpy(np.random.default_rng(0).random((4, 60, 80), np.float32))
    Checkpoint(disk / "new.checkpoint").save("here", FitState({"image": values}, {"image": 1}))


def _load_state(disk: Path) -> None:
    Checkpoint(disk / "new.checkpoint", resume=True).load("here", torch.device("cpu"))


def _exports() -> dict[str, Work]:
    """The exports of Inspect and of napari's Save, without their windows."""
    image = np.random.default_rng(0).random((FRAMES, 60, 80), np.float32)
    frames = [np.uint8(255 * plane) for plane in image]
    writers: dict[str, Callable[[Path], object]] = {
        "picture.png": lambda path: export.write_picture(path, image),
        "picture.tif": lambda path: export.write_picture(path, image),
        "defocus.png": lambda path: export.write_defocus(path, image[0]),
        "defocus.tif": lambda path: export.write_defocus(path, image[0]),
        "layers.tif": lambda path: export.write_layer_stack(
            path, image[:, None], image[:, None], np.linspace(1.2, 0.1, 3)
        ),
        "movie.gif": lambda path: movie.write_movie(path, frames, 5, overwrite=True),
        "movie.mp4": lambda path: movie.write_movie(path, frames, 5, overwrite=True),
        "stack.tif": lambda path: movie.write_focus_stack(path, [(1.0, image)], overwrite=True),
    }
    return {name: _export(name, write) for name, write in writers.items()}


def _export(name: str, write: Callable[[Path], object]) -> Work:
    return Work(lambda disk: write(disk / name), lambda disk: _read_picture(disk / name))


def _read_picture(path: Path) -> None:
    """Read every pixel of every page; of a video, the number of frames."""
    if path.suffix == ".tif":
        tifffile.imread(path)
        return
    if path.suffix == ".mp4":
        if cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT) != FRAMES:
            raise SystemExit(f"{path.name} was written without all its frames")
        return
    with Image.open(path) as picture:
        for frame in range(getattr(picture, "n_frames", 1)):
            picture.seek(frame)
            picture.load()


def _works() -> dict[str, Work]:
    scene = scenes.small_scene("preview")
    calibration = scene.calibration
    entry = {"key": "ab" * 32, "name": "a", "files": ("a", "b"), "folder": "a"}
    index = Index.model_validate({"captures": [entry] * 300})
    return {
        "run": Work(
            lambda disk: seeds.small_run(disk / "new"),
            lambda disk: read_run(disk / "new"),
        ),
        "checkpoint": Work(_save_state, _load_state),
        "calibration": Work(
            lambda disk: save_calibration(calibration, disk / "new.dpcal"),
            lambda disk: load_calibration(disk / "new.dpcal"),
        ),
        "index": Work(
            lambda disk: write_index(disk, index),
            read_index,
        ),
        "fit": Work(
            lambda disk: scenes.fit_and_save(scene, disk / "new"),
            lambda disk: read_run(disk / "new"),
        ),
        **_exports(),
    }


@contextmanager
def small_disk(scratch: Path) -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a separate file system."""
    disk = scratch / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield disk, mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=True)


def _content(disk: Path) -> dict[str, str]:
    return {
        str(path.relative_to(disk)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in disk.rglob("*")
        if path.is_file()
    }


def _limit_files(size_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


def try_once(name: str, work: Work, disk: Path, mounted: bool, seed: str, seen: Outcome) -> None:
    """Fill the disk, write, check, make room, write again."""
    free = int(LARGEST_BYTES * random.Random(seed).random() ** 2)
    before = _content(disk)
    if mounted:
        room = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(max(room.f_bavail * room.f_bsize - free, 0)))
    limit = (lambda: None) if mounted else (lambda: _limit_files(free // 2))
    status = scenes.ended(scenes.in_child(lambda: work.write(disk), limit))
    (disk / "ballast").unlink(missing_ok=True)
    seen.trials += 1
    if status == 0:
        seen.went_well += 1
        work.read(disk)
    elif status == scenes.REFUSED:
        seen.refused += 1
        left = {n: v for n, v in _content(disk).items() if n != "new.checkpoint"}
        if left != before:
            seen.broken.append(f"{seen.trials} {name}: {set(left) ^ set(before) or 'changed'}")
        if scenes.ended(scenes.in_child(lambda: work.write(disk))) != 0:
            seen.broken.append(f"{seen.trials} {name}: still fails with enough space")
    else:
        seen.broken.append(f"{seen.trials} {name}: the child ended with {status}")
    _remove_new(disk)


def _remove_new(disk: Path) -> None:
    for path in sorted(disk.rglob("*"), reverse=True):
        if path.relative_to(disk).parts[0] not in ("old", "old.dpcal"):
            path.rmdir() if path.is_dir() else path.unlink()


def try_many(trials: int, scratch: Path, seed: int) -> Outcome:
    """Run the trials, with all kinds of work in turn."""
    works = _works()
    with small_disk(scratch) as (disk, mounted):
        outcome = Outcome("tmpfs" if mounted else "limit on the size of files")
        seeds.small_run(disk / "old")
        save_calibration(scenes.small_scene().calibration, disk / "old.dpcal")
        for number in range(trials):
            name = list(works)[number % len(works)]
            try_once(name, works[name], disk, mounted, f"{seed} {number}", outcome)
        read_run(disk / "old")
        load_calibration(disk / "old.dpcal")
    return outcome


if __name__ == "__main__":
    sys.exit(scenes.run_trials("A disk that is full at a random write.", "trials", try_many))
