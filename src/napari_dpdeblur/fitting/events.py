"""FitEvent: what a fit reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.progress import StageProgress


@dataclass(frozen=True)
class FitEvent(StageProgress):
    """One step of a fit.

    ``doubts`` are sentences about the input, which come with the first event.
    Previews are downsampled copies on the CPU, in the capture's unit and in defocus scales, or
    None if they have not changed.
    """

    losses: dict[str, float] = field(default_factory=dict)
    all_in_focus: FloatArray | None = None  # (C, h, w)
    defocus_map: FloatArray | None = None  # (h, w)
    doubts: tuple[str, ...] = ()
