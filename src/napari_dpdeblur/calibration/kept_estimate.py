"""Lens estimates that survive an interruption: finished ones are kept beside their checkpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur._version import __version__
from napari_dpdeblur.calibration.record import Calibration
from napari_dpdeblur.calibration.storage import load_calibration, save_calibration
from napari_dpdeblur.errors import CalibrationError

if TYPE_CHECKING:
    from napari_dpdeblur.calibration.estimate.events import EstimateEvent
    from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
    from napari_dpdeblur.capture import DualPixelCapture

INPUTS = "inputs_sha256"  # in the source of a lens: what it was estimated from
LENS_SUFFIX = ".lens.dpcal"
CHECKPOINT_SUFFIX = ".checkpoint"


def lens_events(
    captures: Sequence[DualPixelCapture],
    settings: EstimateSettings | None = None,
    *,
    start: Calibration | None = None,
    kept: Path | None = None,
    resume: bool = True,
) -> Generator[EstimateEvent, None, Calibration]:
    """Estimate the lens of captures; a generator that yields events and returns the Calibration.

    ``kept`` is a file for the finished lens, with a checkpoint beside it: the same call after an
    interruption returns the lens or continues its estimate, unless ``resume`` is False. Remove it
    with :func:`forget_lens`. Imports torch.
    """
    from napari_dpdeblur.calibration.estimate.run import estimate_events

    check_same_camera(captures)
    if kept is None or not _has_folder(kept):
        return (yield from estimate_events(captures, settings, start=start))
    if not resume:
        forget_lens(kept)
    name = estimate_signature(captures, settings, start)
    found = _matching(kept, name)
    if found is not None:
        return found
    checkpoint = checkpoint_of(kept)
    lens = yield from estimate_events(captures, settings, start=start, checkpoint=checkpoint)
    lens = replace(lens, source={**lens.source, INPUTS: name})
    with suppress(CalibrationError):  # it is only kept for an interruption
        save_calibration(lens, kept)
    return lens


def _has_folder(kept: Path) -> bool:
    """Make the folder of a file; without one the estimate is not kept, but goes on."""
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        return True
    return False


def checkpoint_of(kept: Path) -> Path:
    """The checkpoint of the estimate that is kept in a file."""
    return kept.with_name(kept.name + CHECKPOINT_SUFFIX)


def forget_lens(kept: Path) -> None:
    """Delete a kept lens and its checkpoint."""
    for path in (kept, checkpoint_of(kept)):
        path.unlink(missing_ok=True)


def check_kept(kept: Path) -> None:
    """Refuse a file in the place of a kept lens that was not kept there: it would be lost."""
    if not kept.exists() and not kept.is_symlink():
        return
    with suppress(CalibrationError):
        if not kept.is_symlink() and INPUTS in load_calibration(kept).source:
            return
    raise CalibrationError(
        f"{kept} is in the way: the lens that is estimated is kept there until the result is "
        "complete; move the file, or give it as the calibration."
    )


def check_same_camera(captures: Sequence[DualPixelCapture]) -> None:
    """Raise CalibrationError unless all captures have one size, orientation and camera."""
    if not captures:
        raise CalibrationError("No capture was given to estimate the lens from.")
    first, *others = captures
    for other in others:
        if _frame(other) != _frame(first):
            raise CalibrationError(
                f"The captures {first.name} ({_size_text(first)}) and {other.name} "
                f"({_size_text(other)}) differ in size or orientation; estimate one lens from "
                "captures of one camera with the same settings."
            )
        cameras = {_camera(first), _camera(other)} - {None}
        if len(cameras) > 1:
            raise CalibrationError(
                f"The captures {first.name} ({_camera(first)}) and {other.name} "
                f"({_camera(other)}) were made with different cameras; estimate one lens for each."
            )


def _frame(capture: DualPixelCapture) -> tuple[int, int, float, str]:
    _, _, height, width = capture.shape
    return height, width, round(capture.pixel_aspect, 3), capture.orientation


def _size_text(capture: DualPixelCapture) -> str:
    height, width, aspect, orientation = _frame(capture)
    return f"{width} x {round(height * aspect)} px, {orientation}"


def _camera(capture: DualPixelCapture) -> str | None:
    return None if capture.optics is None else capture.optics.camera


def estimate_signature(
    captures: Sequence[DualPixelCapture],
    settings: EstimateSettings | None = None,
    start: Calibration | None = None,
) -> str:
    """SHA-256 of everything that decides an estimate."""
    parts = {
        "version": __version__,
        "captures": [_content(capture) for capture in captures],
        "settings": None if settings is None else settings.model_dump(exclude_defaults=True),
        "start": None if start is None else start.content_hash(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _content(capture: DualPixelCapture) -> list[object]:
    optics = {} if capture.optics is None else capture.optics.known()
    levels = [capture.black, capture.white, capture.encoding]
    digest = hashlib.sha256(capture.raw.tobytes()).hexdigest()
    return [digest, str(capture.raw.dtype), *_frame(capture), *levels, optics]


def _matching(kept: Path, signature: str) -> Calibration | None:
    """The kept lens, if it was estimated from the same input."""
    if not kept.exists():
        return None
    with suppress(CalibrationError):
        lens = load_calibration(kept)
        if lens.source.get(INPUTS) == signature:
            return lens
    return None
