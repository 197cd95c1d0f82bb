"""estimate_lens(): from captures of one camera to a Calibration.

Imports torch only when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.cancellation import controlled
from napari_dpdeblur.generators import finish
from napari_dpdeblur.progress_bar import progress_bar

if TYPE_CHECKING:
    from napari_dpdeblur.calibration.estimate.events import EstimateEvent
    from napari_dpdeblur.calibration.record import Calibration
    from napari_dpdeblur.cancellation import Control
    from napari_dpdeblur.capture import DualPixelCapture


def estimate_lens(
    captures: Sequence[DualPixelCapture] | DualPixelCapture,
    settings: EstimateSettings | None = None,
    *,
    start: Calibration | None = None,
    progress: bool | Callable[[EstimateEvent], object] = True,
    control: Control | None = None,
    checkpoint: str | Path | None = None,
) -> Calibration:
    """Estimate kernels and vignetting of a camera from one or more captures of it.

    The captures must have the same size and come from the same camera with the same focus.
    ``start`` is a calibration to adapt instead of a generic lens; it is kept if the captures do not
    support a change. ``progress`` shows a bar (True), nothing (False), or is a function that is
    called with each event. ``control`` pauses or cancels from another thread. ``checkpoint`` is a
    file for the state: the same call after an interruption resumes from it, and it is removed at
    the end. The verdict of the result says how far to trust it.
    """
    from napari_dpdeblur.calibration.estimate.run import estimate_events
    from napari_dpdeblur.capture import DualPixelCapture

    given = [captures] if isinstance(captures, DualPixelCapture) else list(captures)
    path = None if checkpoint is None else Path(checkpoint)
    events = estimate_events(given, settings, start=start, checkpoint=path)
    if control is not None:
        events = controlled(events, control)
    if callable(progress):
        return finish(events, progress)
    with progress_bar(is_quiet=not progress) as show:
        return finish(events, show)
