"""fit_events(): a capture and a calibration in, events on the way, a Result at the end."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import cv2
import torch

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import stages
from napari_dpdeblur.fitting.checkpoint import Checkpoint, FitState
from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.device import release_memory, resolve_device
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.paper.preset import optimised
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.fitting.resources import memory_of, require_memory
from napari_dpdeblur.fitting.result import signature
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.optics.memory import is_out_of_memory
from napari_dpdeblur.progress import StageClock
from napari_dpdeblur.results.result import Result

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

# What comes after the search, and the share of the time that each stage takes.
SOLVERS = {"preview": stages.preview, "standard": stages.standard, "paper": optimised}
SHARES = {
    "preview": {"evidence": 45.0, "defocus map": 25.0, "image": 30.0},
    "standard": {
        "evidence": 5.0,
        "defocus map": 7.0,
        "start": 4.0,
        "edges": 7.0,
        "deblur": 14.0,
        "detail": 13.0,
        "refine": 13.0,
        "image": 37.0,
    },
    "paper": {"evidence": 0.5, "defocus map": 0.5, "optimise": 99.0},
}


def fit_events(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    crop: Crop | None = None,
    control: Control | None = None,
    checkpoint: Checkpoint | None = None,
) -> Generator[FitEvent, None, Result]:
    """Fit a multiplane image to one dual-pixel capture.

    A generator: yields a :class:`FitEvent` after every step and returns the `Result`.
    ``crop`` is (top, left, height, width) in the calibrated field. ``control`` pauses or cancels
    from another thread, within a second; ``checkpoint`` saves the state and resumes from it.
    """
    steps = _guarded(capture, calibration, settings or FitSettings(), crop, checkpoint)
    return controlled(steps, control) if control is not None else steps


def _guarded(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    crop: Crop | None,
    checkpoint: Checkpoint | None,
) -> Generator[FitEvent, None, Result]:
    """The fit with its memory checked before, released after, and its failures in sentences."""
    device = resolve_device(settings.device)
    if device.type == "cpu":
        require_memory(memory_of(capture, calibration, settings, crop), capture.name)
    try:
        return (yield from _fit(capture, calibration, settings, device, crop, checkpoint))
    except Exception as error:
        traceback.clear_frames(error.__traceback__)  # they hold the tensors of the fit
        if isinstance(error, RuntimeError | MemoryError):
            raise _as_fit_error(error, device) from error
        raise
    finally:
        release_memory(device)


def _fit(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    device: torch.device,
    crop: Crop | None,
    checkpoint: Checkpoint | None,
) -> Generator[FitEvent, None, Result]:
    """The fit itself; when it ends, nothing holds its tensors any more."""
    with _threads(settings.threads):
        problem = pose_problem(capture, calibration, settings, device, crop)
        name = signature(capture, calibration, settings, crop)
        state = checkpoint.load(name, device) if checkpoint else FitState()
        clock = StageClock(SHARES[settings.preset])
        context = FitContext(
            capture, calibration, settings, crop, problem, clock, name, checkpoint, state
        )
        search = yield from stages.search_defocus(context)
        return (yield from SOLVERS[settings.preset](context, search))


@contextmanager
def _threads(threads: int | None) -> Generator[None, None, None]:
    """Limit the threads of torch, and those of OpenCV to as many, for the duration of a fit."""
    before, before_opencv = torch.get_num_threads(), cv2.getNumThreads()
    if threads:
        torch.set_num_threads(threads)
    cv2.setNumThreads(torch.get_num_threads())
    try:
        yield
    finally:
        torch.set_num_threads(before)
        cv2.setNumThreads(before_opencv)


def _as_fit_error(error: BaseException, device: torch.device) -> FitError:
    """Torch raises RuntimeErrors, which the threads of a window swallow."""
    if is_out_of_memory(error):
        other = "" if device.type == "cpu" else ", or choose the device cpu"
        return FitError(
            f"The fit ran out of memory on {device.type}; fit a crop or use fewer layers{other}."
        )
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return FitError(f"The fit failed on {device.type}: {reason}")
