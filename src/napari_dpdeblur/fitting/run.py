"""fit_events(): generator that fits a capture, yields events and returns a Result."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import cv2
import torch

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.computing.memory import is_out_of_memory
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.checkpoint import Checkpoint, FitState
from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.defocus.search import DefocusSearch
from napari_dpdeblur.fitting.device import release_memory, resolve_device
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.notes import lens_notes, scene_notes
from napari_dpdeblur.fitting.photo.stages import color_result, with_colors
from napari_dpdeblur.fitting.presets import PRESETS, PresetRecord
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.fitting.report.doubts import (
    SWAPPED,
    calibration_doubts,
    view_doubts,
    with_search,
)
from napari_dpdeblur.fitting.report.views import check_views
from napari_dpdeblur.fitting.resources import memory_budget, memory_of, require_memory
from napari_dpdeblur.fitting.result import signature
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.fitting.stages import search_defocus
from napari_dpdeblur.progress import StageClock
from napari_dpdeblur.results.result import Result

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.photo.registration import Registration

Solver = Callable[[FitContext, DefocusSearch], Generator[FitEvent, None, Result]]


def fit_events(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    crop: Crop | None = None,
    control: Control | None = None,
    checkpoint: Checkpoint | None = None,
    photo: Registration | None = None,
    lazy_layers: bool = False,
) -> Generator[FitEvent, None, Result]:
    """Fit a multiplane image to one dual-pixel capture.

    A generator: yields a :class:`FitEvent` after every step and returns the `Result`.
    ``crop`` is (top, left, height, width) in the calibrated field. ``control`` pauses or cancels
    from another thread, within a second; ``checkpoint`` saves the state and resumes from it.
    ``photo``, aligned by ``register``, gives the result of a green capture its colours.
    ``lazy_layers`` leaves the layers of the result to be computed when they are used, as those of
    large results always are: for a caller that only writes them.
    """
    settings = settings or FitSettings()
    steps = _guarded(capture, calibration, settings, crop, checkpoint, photo, lazy_layers)
    return controlled(steps, control) if control is not None else steps


def _guarded(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    crop: Crop | None,
    checkpoint: Checkpoint | None,
    photo: Registration | None,
    lazy_layers: bool,
) -> Generator[FitEvent, None, Result]:
    """The fit with a check of the memory, which it releases, and with errors as FitError."""
    device = resolve_device(settings.device)
    if device.type == "cpu":
        need_bytes = memory_of(capture, calibration, settings, crop, photo is not None)
        require_memory(need_bytes, capture.name, settings.memory_gb)
    try:
        return (
            yield from _fit(
                capture, calibration, settings, device, crop, checkpoint, photo, lazy_layers
            )
        )
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
    photo: Registration | None,
    lazy_layers: bool,
) -> Generator[FitEvent, None, Result]:
    """The fit itself; when it ends, nothing references its tensors."""
    with _threads(settings.threads):
        problem = pose_problem(capture, calibration, settings, device, crop)
        given = None if photo is None else photo.photo
        name = signature(capture, calibration, settings, crop, given)
        state = checkpoint.load(name, device) if checkpoint else FitState()
        preset = PRESETS[settings.preset]
        clock = StageClock(preset.stages if photo is None else with_colors(preset.stages))
        context = FitContext(
            capture, calibration, settings, crop, problem, clock, name, checkpoint, state
        )
        context.budget_bytes = memory_budget(settings.memory_gb)
        context.lazy_layers = lazy_layers and photo is None
        _check_input(context)
        search = yield from search_defocus(context)
        notes, look_swapped = scene_notes(search, settings, calibration)
        if context.view_check is not None:
            context.doubts = with_search(context.doubts, context.view_check, look_swapped)
        is_swapped = any(doubt.kind == SWAPPED for doubt in context.doubts)
        context.views_look_swapped = look_swapped or is_swapped
        context.notes = [*lens_notes(calibration, capture), *notes]
        result = yield from _solver(preset)(context, search)
        return result if photo is None else (yield from color_result(context, result, photo))


def _check_input(context: FitContext) -> None:
    """Look for reasons not to trust the fit before it begins."""
    parameters, calibration = context.settings.parameters.views, context.calibration
    found = check_views(context.problem, context.capture, calibration, context.crop, parameters)
    context.view_check = found
    context.doubts = [
        *view_doubts(found, parameters),
        *calibration_doubts(calibration, context.capture),
    ]


def _solver(preset: PresetRecord) -> Solver:
    module, _, function = preset.solver.partition(":")
    solver: Solver = getattr(import_module(module), function)
    return solver


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
    """A FitError for a RuntimeError of torch, which the threads of a window would swallow."""
    if is_out_of_memory(error):
        other = "" if device.type == "cpu" else ", or choose the device cpu"
        return FitError(
            f"The fit ran out of memory on {device.type}; fit a crop or use fewer layers{other}."
        )
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return FitError(f"The fit failed on {device.type}: {reason}")
