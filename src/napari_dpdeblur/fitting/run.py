"""fit(): a capture and a calibration in, events on the way, a FitResult at the end."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cv2
import torch

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import stages
from napari_dpdeblur.fitting.checkpoint import Checkpoint, FitState
from napari_dpdeblur.fitting.context import Job
from napari_dpdeblur.fitting.control import FitControl
from napari_dpdeblur.fitting.device import release_memory, resolve_device
from napari_dpdeblur.fitting.events import Clock, FitEvent, FitResult
from napari_dpdeblur.fitting.paper.preset import optimised
from napari_dpdeblur.fitting.problem import Crop, pose_problem
from napari_dpdeblur.fitting.resources import memory_of, require_memory
from napari_dpdeblur.fitting.result import finished, signature
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics.memory import is_out_of_memory

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


def fit(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    crop: Crop | None = None,
    control: FitControl | None = None,
    checkpoint: Checkpoint | None = None,
) -> Generator[FitEvent, None, FitResult]:
    """Fit a multiplane image to one dual-pixel capture.

    A generator: yields a :class:`FitEvent` after every step and returns a :class:`FitResult`.
    ``crop`` is (top, left, height, width) in the calibrated field. ``control`` pauses or cancels
    from another thread, within a second; ``checkpoint`` saves the state and goes on from it.
    """
    settings, control = settings or FitSettings(), control or FitControl()
    device = resolve_device(settings.device)
    if device.type == "cpu":
        require_memory(memory_of(capture, calibration, settings, crop), capture.name)
    try:
        return (yield from _fit(capture, calibration, settings, device, crop, control, checkpoint))
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
    control: FitControl,
    checkpoint: Checkpoint | None,
) -> Generator[FitEvent, None, FitResult]:
    """The fit itself; when it ends, nothing holds its tensors any more."""
    with _threads(settings.threads):
        problem = pose_problem(capture, calibration, settings, device, crop, control.check)
        name = signature(capture, calibration, settings, crop)
        state = checkpoint.load(name, device) if checkpoint else FitState()
        clock = Clock(SHARES[settings.preset], lambda: control.waited_s)
        job = Job(problem, settings, clock, control, name, checkpoint, state)
        search = yield from stages.search_defocus(job, capture.name)
        solution = yield from SOLVERS[settings.preset](job, search)
        return finished(job, solution, capture, calibration, crop)


def run_fit(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    on_event: Callable[[FitEvent], None] = lambda event: None,
    **options: Any,
) -> FitResult:
    """Run a fit to its end and return the result; ``on_event`` sees each event."""
    return finish(fit(capture, calibration, settings, **options), on_event)


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
