"""The task of a worker: fit one capture and write its run folder."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.batch.plan import CHECKPOINTS, KEY, Conditions
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.capture.photo import Photo, open_photo
from napari_dpdeblur.errors import CalibrationError, CaptureError, DpDeblurError, FitError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import Result, check_run_folder, write_run
from napari_dpdeblur.results.provenance import read_provenance

if TYPE_CHECKING:
    from napari_dpdeblur.fitting import Checkpoint

# One fit uses the whole device, or all threads that torch may use.
_ONE_CAPTURE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Task:
    """One capture, as sent to a worker."""

    key: str
    name: str
    files: tuple[str, ...]
    output: str
    folder: str
    conditions: Conditions
    photo: str | None = None


@dataclass(frozen=True)
class Report:
    """Outcome of a fit, as sent back."""

    key: str
    failure: str | None
    elapsed_s: float


def fit_one(task: Task) -> Report:
    """Fit a capture; an error becomes a report, so the batch continues."""
    failure = None
    with _ONE_CAPTURE_AT_A_TIME:
        start = time.monotonic()
        try:
            _fit(task)
        except DpDeblurError as error:
            failure = str(error)
        except Exception as error:  # one bad capture must not stop a batch
            failure = f"{task.name} failed unexpectedly: {type(error).__name__}: {error}"
    return Report(task.key, failure, round(time.monotonic() - start, 3))


def _fit(task: Task) -> None:
    folder = Path(task.output) / task.folder
    if is_finished(folder, task.key):
        return
    check_run_folder(folder)
    settings = FitSettings.of(task.conditions.settings)
    calibration = _calibration(task.conditions)
    photo = None if task.photo is None else open_photo(task.photo)
    capture = _capture(task, photo)

    from napari_dpdeblur.fitting import Checkpoint

    checkpoint = Checkpoint(Path(task.output) / CHECKPOINTS / f"{task.key}.checkpoint", resume=True)
    result = _result(capture, calibration, settings, checkpoint, photo)
    result = replace(result, provenance={KEY: task.key, **result.provenance})
    try:
        write_run(result, folder)
    except DpDeblurError:
        # another worker, presumed dead, may have finished first
        if not is_finished(folder, task.key):
            raise
    checkpoint.remove()


def _result(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    checkpoint: Checkpoint,
    photo: Photo | None,
) -> Result:
    """Resume an earlier attempt; if that fails, start again once."""
    from napari_dpdeblur.fitting import fit

    began = checkpoint.path.exists()
    fitted = partial(fit, capture, calibration, settings, photo=photo, progress=False)
    try:
        return fitted(checkpoint=checkpoint)
    except FitError:
        if not began:
            raise
        checkpoint.remove()
        return fitted(checkpoint=checkpoint)


def is_finished(folder: Path, key: str) -> bool:
    """Whether a folder holds the complete run of a capture."""
    try:
        return folder.is_dir() and read_provenance(folder / "run.yaml").get(KEY) == key
    except DpDeblurError:
        return False


def _capture(task: Task, photo: Photo | None) -> DualPixelCapture:
    conditions = task.conditions
    capture = open_capture(*task.files, black=conditions.black, white=conditions.white)
    photo_sum = () if photo is None else (photo.sha256,)
    if conditions.key([*capture.source.sha256, *photo_sum]) != task.key:
        raise CaptureError(
            f"The files of {task.name} have changed since the batch started; start it again."
        )
    return capture


def _calibration(conditions: Conditions) -> Calibration:
    path = Path(conditions.calibration)
    modified = path.stat().st_mtime_ns if path.exists() else 0
    calibration = _loaded(path, modified)
    if calibration.content_hash() != conditions.calibration_hash:
        raise CalibrationError(
            f"The calibration {path} has changed since the batch started; start it again."
        )
    return calibration


@lru_cache(maxsize=2)
def _loaded(path: Path, modified: int) -> Calibration:
    return load_calibration(path)
