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
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.events import FitEvent
    from napari_dpdeblur.results.result import Result


def fit(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    progress: bool | Callable[[FitEvent], object] = True,
    crop: Crop | None = None,
    control: Control | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    **changes: Any,
) -> Result:
    """Recover the all-in-focus image, the defocus map and the layers of a capture.

    ``changes`` are settings by name, such as ``preset="preview"`` or ``layers=8``; they replace
    those of ``settings``. ``progress`` shows a bar (True), nothing (False), or is a function that
    is called with each event. ``crop`` is (top, left, height, width) in the calibrated field.
    ``control`` pauses or cancels from another thread. ``checkpoint`` is a file for the state: the
    same call after an interruption resumes from it, and the file is removed at the end.
    """
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.resources import memory_of
    from napari_dpdeblur.fitting.run import fit_events

    settings = (settings or FitSettings()).changed(**changes)
    own = Checkpoint(Path(checkpoint), True) if isinstance(checkpoint, str | Path) else None
    kept = checkpoint if isinstance(checkpoint, Checkpoint) else own
    events = fit_events(capture, calibration, settings, crop=crop, control=control, checkpoint=kept)
    if callable(progress):
        result = finish(events, progress)
    else:
        need = f"{memory_of(capture, calibration, settings, crop) / 1e9:.1f} GB"
        with progress_bar(is_quiet=not progress, note=need) as show:
            result = finish(events, show)
    if own is not None:
        own.remove()
    return result
