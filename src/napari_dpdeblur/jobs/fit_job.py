"""Fit a capture as a job."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.calibration.kept_estimate import forget_lens
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import FitError, ResultError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.generators import expanded
from napari_dpdeblur.jobs.messages import Message, Note, Progress
from napari_dpdeblur.results import Result, check_run_folder, write_run
from napari_dpdeblur.results.result import PLACEMENT

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.fitting import FitEvent
    from napari_dpdeblur.fitting.photo.registration import Registration
    from napari_dpdeblur.jobs.cache import CachedCheckpoint

FUNCTION = f"{__name__}:run"
PREVIEW_PX = 320
IS_RESUMED = "is_resumed"  # in the provenance: the fit was resumed from a checkpoint
MIN_SIZE_PX = 32  # smaller regions are refused by the fit
PREVIEW_EVERY_S = 0.5
LENS_SHARE = 0.4  # of the time of a fit that estimates the lens first
DOUBTS = "doubts"  # entry of `Progress.found`: sentences about the input
ESTIMATED_LENS = "lens"  # in `Progress.found`
FIELD = "field"  # in `Progress.found`: position of the calibrated field in the capture's frame
OVERLAP = "overlap"  # in `Progress.found`: a picture of a photo that does not match


@dataclass(frozen=True, eq=False)
class FitRequest:
    """Input of a fit. ``calibration`` may be a file to read; None: estimated from the capture.

    ``region``: the part to fit, in square pixels of the capture's frame. ``reduction``: fit the
    whole field at a resolution reduced by this factor, without the photo. ``is_resumable``: save
    checkpoints in the cache, and resume an interrupted fit. ``output``: run folder to write.
    ``photo``: file of a colour photo.
    """

    capture: DualPixelCapture
    calibration: Calibration | Path | None
    settings: FitSettings
    region: Crop | None = None
    reduction: int = 1
    is_resumable: bool = False
    output: Path | None = None
    photo: Path | None = None


def run(request: FitRequest) -> Generator[Message, None, Result]:
    """Fit, report progress, save if requested, return the result."""
    if request.output is not None:
        check_run_folder(request.output)
    yield Progress("loading", 0, 1, 0.0)
    photo = yield from _registered(request)
    calibration, kept = yield from _lens(request)
    region = request.region if request.reduction == 1 else None
    crop = crop_of(region, request.capture, calibration)
    place = place_of(crop, request.capture, calibration)
    done = 0.0 if request.calibration is not None else LENS_SHARE
    field = place_of(None, request.capture, calibration)
    yield Progress("loading", 1, 1, done, found={"place": place, FIELD: field})
    result, checkpoint = yield from _fitted(request, calibration, crop, photo)
    # The receiver already has the capture at full resolution.
    result = replace(result, capture=None, calibration=calibration)
    if request.reduction > 1:
        placed = placement_in(place, result.defocus_map.shape)
        result = replace(result, provenance={**result.provenance, PLACEMENT: placed})
    result = yield from _saved(result, request.output, request.capture)
    if checkpoint is not None:
        checkpoint.remove()  # last, so that a fit killed while saving can be resumed
    if kept is not None:
        forget_lens(kept)
    return result


def placement_in(place: Crop, shape: Sequence[int]) -> dict[str, list[float]]:
    """Pixel size and position of the first pixel of an image that fills a box of the frame."""
    top, left, height, width = place
    scale = [height / shape[0], width / shape[1]]
    return {"scale": scale, "translate": [top + (scale[0] - 1) / 2, left + (scale[1] - 1) / 2]}


def place_of(crop: Crop | None, capture: DualPixelCapture, calibration: Calibration) -> Crop:
    """Position of the result, in square pixels of the capture's frame."""
    field = calibration.field
    top, left = (field.top, field.left) if _has_frame(capture, calibration) else (0, 0)
    if crop is None:
        return top, left, field.height, field.width
    return top + crop[0], left + crop[1], crop[2], crop[3]


def crop_of(
    region: Crop | None, capture: DualPixelCapture, calibration: Calibration
) -> Crop | None:
    """A region of the frame as a crop of the calibrated field; None: the whole field."""
    if region is None:
        return None
    top, left, height, width = place_of(None, capture, calibration)
    first = max(region[0] - top, 0), max(region[1] - left, 0)
    last = min(region[0] + region[2] - top, height), min(region[1] + region[3] - left, width)
    if min(last[0] - first[0], last[1] - first[1]) < MIN_SIZE_PX:
        raise FitError(
            f"The selected region of {capture.name} contains less than {MIN_SIZE_PX} px of the "
            "calibrated field; move the image or zoom out."
        )
    return first[0], first[1], last[0] - first[0], last[1] - first[1]


def _has_frame(capture: DualPixelCapture, calibration: Calibration) -> bool:
    """Whether the capture shows the whole frame of the calibration, not its field alone."""
    height, width = capture.shape[-2:]
    return (round(height * capture.pixel_aspect), width) == calibration.frame_shape


def _lens(request: FitRequest) -> Generator[Message, None, tuple[Calibration, Path | None]]:
    """The calibration, and the file that keeps it until the end if it was estimated."""
    given = request.calibration
    if given is not None:
        return given if isinstance(given, Calibration) else load_calibration(given), None
    from napari_dpdeblur.jobs.lens_job import cached_lens, lens_steps

    is_swapped = request.settings.swap_views
    capture = request.capture.with_swapped_views() if is_swapped else request.capture
    kept = cached_lens([capture])
    lens = yield from lens_steps([capture], kept=kept, share=LENS_SHARE)
    yield Progress("lens estimated", 1, 1, LENS_SHARE, found={ESTIMATED_LENS: lens})
    return lens, kept


def _fitted(
    request: FitRequest,
    calibration: Calibration,
    crop: Crop | None,
    photo: Registration | None,
) -> Generator[Message, None, tuple[Result, CachedCheckpoint | None]]:
    from napari_dpdeblur.fitting import fit_events
    from napari_dpdeblur.fitting.result import signature
    from napari_dpdeblur.jobs.reduced import reduced

    capture = request.capture
    if request.reduction > 1:
        capture, calibration = reduced(capture, calibration, request.reduction)
    signed = signature(
        capture, calibration, request.settings, crop, None if photo is None else photo.photo
    )
    checkpoint = _checkpoint(request, signed)
    events = fit_events(
        capture, calibration, request.settings, crop=crop, checkpoint=checkpoint, photo=photo
    )
    done = 0.0 if request.calibration is not None else LENS_SHARE
    previews = _Previews(_shape(calibration, crop), done)
    is_first = True

    def told(event: FitEvent) -> Iterator[Message]:
        nonlocal is_first
        if is_first and checkpoint is not None and checkpoint.is_resumed:
            yield Note(f"Resuming the interrupted fit of {capture.name}.")
        is_first = False
        yield previews.progress(event)

    result = yield from expanded(events, told)
    if checkpoint is not None and checkpoint.is_resumed:
        result = replace(result, provenance={**result.provenance, IS_RESUMED: True})
    if checkpoint is not None and checkpoint.problem is not None:
        yield Note(f"{checkpoint.problem} The fit continued without checkpoints.", is_problem=True)
    return result, checkpoint


def _registered(request: FitRequest) -> Generator[Message, None, Registration | None]:
    """The photo, aligned before anything else; if that fails, a picture is sent first."""
    if request.photo is None or request.reduction > 1:
        return None
    from napari_dpdeblur.capture.photo import open_photo
    from napari_dpdeblur.fitting.photo.registration import RegistrationError, register

    try:
        parameters = request.settings.parameters.photo_registration
        return register(request.capture, open_photo(request.photo), parameters)
    except RegistrationError as error:
        yield Progress("photo", 1, 1, 0.0, found={OVERLAP: error.picture})
        # Without its picture, it can be sent to another process.
        raise FitError(str(error)) from None


def _checkpoint(request: FitRequest, signed: str) -> CachedCheckpoint | None:
    if not request.is_resumable:
        return None
    from napari_dpdeblur.jobs.cache import (
        CachedCheckpoint,
        checkpoint_folder,
        forget_old_checkpoints,
    )

    forget_old_checkpoints(checkpoint_folder())
    return CachedCheckpoint(checkpoint_folder(), signed)


def _saved(
    result: Result, output: Path | None, capture: DualPixelCapture
) -> Generator[Message, None, Result]:
    """Write the run folder; a full disk must not lose the result."""
    if output is None:
        return result
    yield Progress("saving", 1, 1, 1.0)
    try:
        return replace(result, run_folder=write_run(replace(result, capture=capture), output))
    except ResultError as error:
        yield Note(f"{error} The result is shown but was not saved.", is_problem=True)
        return result


def _shape(calibration: Calibration, crop: Crop | None) -> tuple[int, int]:
    field = calibration.field
    return (field.height, field.width) if crop is None else crop[2:]


class _Previews:
    """Resizes the images of events and limits their rate; ``done``: the share done before."""

    def __init__(self, shape: tuple[int, int], done: float = 0.0) -> None:
        self._done = done
        height, width = shape
        factor = max(1.0, max(shape) / PREVIEW_PX)
        self._size = (max(round(width / factor), 1), max(round(height / factor), 1))
        self._next = {"all_in_focus": 0.0, "defocus_map": 0.0}

    def progress(self, event: FitEvent) -> Progress:
        return Progress(
            event.stage,
            event.step,
            event.total,
            self._done + (1 - self._done) * event.fraction,
            event.losses,
            self._picture("all_in_focus", event.all_in_focus, event.step == event.total),
            self._picture("defocus_map", event.defocus_map, event.step == event.total),
            {DOUBTS: event.doubts} if event.doubts else {},
        )

    def _picture(self, kind: str, image: FloatArray | None, is_last: bool) -> FloatArray | None:
        now = time.monotonic()
        if image is None or (now < self._next[kind] and not is_last):
            return None
        self._next[kind] = now + PREVIEW_EVERY_S
        pixels = np.ascontiguousarray(image if image.ndim == 2 else np.moveaxis(image, 0, -1))
        resized = cv2.resize(pixels, self._size, interpolation=cv2.INTER_LINEAR)
        return np.asarray(resized, np.float32)
