"""fit(): from a capture and a calibration to a Result, with a progress bar.

Imports torch only when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.generators import finish
from napari_dpdeblur.progress_bar import progress_bar

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.cancellation import Control
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.capture.photo import Photo
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.photo.registration import Registration
    from napari_dpdeblur.results.result import Result


def fit(
    capture: DualPixelCapture,
    calibration: Calibration | None = None,
    settings: FitSettings | None = None,
    *,
    progress: bool | Callable[[Any], object] = True,
    crop: Crop | None = None,
    control: Control | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    photo: Photo | Registration | str | Path | None = None,
    lazy_layers: bool = False,
    **changes: Any,
) -> Result:
    """Recover the all-in-focus image, the defocus map and the layers of a capture.

    Without a calibration, the lens is estimated from the capture first, as by ``estimate_lens``,
    and a note of the result gives the verdict. ``changes`` are settings by name, such as
    ``preset="preview"`` or ``layers=8``; they replace those of ``settings``. ``progress`` shows a
    bar (True), nothing (False), or is a function that is called with each event: a ``FitEvent``,
    and first each ``EstimateEvent`` if the lens is estimated. ``crop`` is (top, left, height,
    width) in the calibrated field. ``control`` pauses or cancels from another thread.
    ``checkpoint`` is a file for the state: the same call after an interruption resumes from it,
    and the file is removed at the end. ``photo`` is a colour photo of the scene, or its file: it
    gives the result of a green capture its colours; one that does not match is a ``FitError``.
    ``lazy_layers`` computes the layers only when they are used: faster if they are only saved.
    """
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.resources import memory_of
    from napari_dpdeblur.fitting.run import fit_events

    settings = (settings or FitSettings()).changed(**changes)
    own = Checkpoint(Path(checkpoint), True) if isinstance(checkpoint, str | Path) else None
    kept = checkpoint if isinstance(checkpoint, Checkpoint) else own
    matched = None if photo is None else _registered(capture, photo, settings)
    is_estimated = calibration is None
    if calibration is None:
        calibration = _estimated(capture, settings, progress, control, kept)
    events = fit_events(
        capture,
        calibration,
        settings,
        crop=crop,
        control=control,
        checkpoint=kept,
        photo=matched,
        lazy_layers=lazy_layers,
    )
    if callable(progress):
        result = finish(events, progress)
    else:
        need = f"{memory_of(capture, calibration, settings, crop) / 1e9:.1f} GB"
        with progress_bar(is_quiet=not progress, note=need) as show:
            result = finish(events, show)
    if own is not None:
        own.remove()
        if is_estimated:
            _forget(own)
    return result


def _registered(
    capture: DualPixelCapture, photo: Photo | Registration | str | Path, settings: FitSettings
) -> Registration:
    """The photo, aligned with the capture before anything is estimated."""
    from napari_dpdeblur.capture.photo import open_photo
    from napari_dpdeblur.fitting.photo.registration import Registration, register

    if isinstance(photo, Registration):
        return photo
    found = open_photo(photo) if isinstance(photo, str | Path) else photo
    return register(capture, found, settings.parameters.photo_registration)


def _estimated(
    capture: DualPixelCapture,
    settings: FitSettings,
    progress: bool | Callable[[Any], object],
    control: Control | None,
    checkpoint: Checkpoint | None,
) -> Calibration:
    """The lens of the capture, kept beside the checkpoint of the fit."""
    from napari_dpdeblur.calibration.kept_estimate import check_kept, lens_events
    from napari_dpdeblur.cancellation import controlled

    if checkpoint is not None:
        check_kept(_kept(checkpoint))
    views = capture.with_swapped_views() if settings.swap_views else capture
    events = lens_events([views], kept=None if checkpoint is None else _kept(checkpoint))
    if control is not None:
        events = controlled(events, control)
    if callable(progress):
        return finish(events, progress)
    with progress_bar(is_quiet=not progress, note="lens") as show:
        return finish(events, show)


def _kept(checkpoint: Checkpoint) -> Path:
    from napari_dpdeblur.calibration.kept_estimate import LENS_SUFFIX

    return checkpoint.path.with_name(checkpoint.path.name + LENS_SUFFIX)


def _forget(checkpoint: Checkpoint) -> None:
    from napari_dpdeblur.calibration.kept_estimate import forget_lens

    forget_lens(_kept(checkpoint))
