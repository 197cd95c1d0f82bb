"""The stage that a photo adds to a fit: the colours of the result."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.photo.coloring import colored

if TYPE_CHECKING:
    from napari_dpdeblur.fitting.context import FitContext
    from napari_dpdeblur.fitting.photo.registration import Registration
    from napari_dpdeblur.results.result import Result

COLORS = "colors"
SHARE = 0.07  # of the time of a fit without a photo
MANY_FILLED = 0.05  # share of the result from which filled-in colours are worth a note


def with_colors(stages: Mapping[str, float]) -> dict[str, float]:
    """The shares of the stages of a fit, with that of the colours at the end."""
    return {**stages, COLORS: SHARE * sum(stages.values())}


def color_result(
    context: FitContext, result: Result, registration: Registration
) -> Generator[FitEvent, None, Result]:
    """The result in the colours of the photo, with notes about what it did not show."""
    found = colored(result, registration, place_in_frame(context), context.settings.parameters)
    context.clock.end_stage(COLORS)
    provenance = found.provenance
    provenance["elapsed_s"] = round(context.clock.elapsed_s(), 3)
    provenance["timings_s"] = {n: round(s, 3) for n, s in context.clock.timings_s.items()}
    filled = provenance["photo"]["filled_share"]
    if filled > MANY_FILLED:
        note = (
            f"{filled:.0%} of the colours were filled in from around, because the photo does not "
            "show these parts or shows something else there."
        )
        provenance["notes"] = [*(provenance.get("notes") or []), note]
    yield context.event(COLORS, 1, 1)
    return found


def place_in_frame(context: FitContext) -> Crop:
    """Where the result lies in the frame of the capture, in square pixels."""
    calibration, capture = context.calibration, context.capture
    field = calibration.field
    size = (round(capture.shape[-2] * capture.pixel_aspect), capture.shape[-1])
    top, left = (field.top, field.left) if size == calibration.frame_shape else (0, 0)
    height, width = context.problem.shape
    if context.crop is not None:
        top, left = top + context.crop[0], left + context.crop[1]
    return top, left, height, width
