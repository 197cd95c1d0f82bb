"""Check the verdict and the diagnostic arrays of a calibration file.

They change no result, but the code that draws them relies on their form. Unknown entries and arrays
are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from napari_dpdeblur.calibration.sides import FRONT
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files.schema import KnownEntries, first_problem

MAX_SIDE_PX = 4096
MAX_ASPECT = 20
MAX_DISCS = 100_000
MAX_FRAMES_AWAY = 10  # distance of a disc from the frame


class _Check(KnownEntries):
    name: str
    value: float
    grade: str
    meaning: str
    remedy: str


class _Verdict(KnownEntries):
    grade: str = ""
    checks: list[_Check] = Field(default_factory=list)
    filled_tiles: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    front: _Verdict | None = None


def check_verdict(verdict: dict[str, Any] | None, tiles: int) -> None:
    """Raise CalibrationError if an entry that is displayed is invalid."""
    try:
        known = _Verdict.model_validate(verdict or {})
    except ValidationError as error:
        where, problem = first_problem(error)
        raise CalibrationError(
            f"The verdict of the calibration has an invalid entry {where!r}: {problem}."
        ) from error
    filled = known.filled_tiles + (known.front.filled_tiles if known.front else [])
    if max(filled, default=0) >= tiles:
        raise CalibrationError(
            f"The verdict of the calibration lists tile {max(filled)}, but there are only {tiles} "
            "tiles; the file is damaged."
        )


def check_diagnostics(arrays: Mapping[str, np.ndarray], frame_shape: tuple[int, int]) -> None:
    """Raise CalibrationError if thumbnail, residual or discs cannot be drawn."""
    reach_px = MAX_FRAMES_AWAY * max(frame_shape)
    can_be_drawn: dict[str, Callable[[np.ndarray], bool]] = {
        "thumbnail": lambda array: array.ndim == 2 and _is_picture(array),
        "residual": lambda array: array.shape[:-2] == (2,) and _is_picture(array),
        "discs": lambda array: _are_discs(array, reach_px),
    }
    for name, array in arrays.items():
        is_usable = can_be_drawn.get(name.removeprefix(FRONT))
        if is_usable is not None and not is_usable(np.asarray(array)):
            raise CalibrationError(
                f"The diagnostic array {name!r} of the calibration is invalid (shape "
                f"{np.shape(array)}); the file is damaged."
            )


def _is_picture(array: np.ndarray) -> bool:
    shortest, longest = sorted(array.shape[-2:])
    has_size = 0 < shortest <= longest <= min(MAX_SIDE_PX, MAX_ASPECT * shortest)
    return has_size and bool(np.isfinite(array).all())


def _are_discs(array: np.ndarray, reach_px: float) -> bool:
    """Whether the rows are x, y and two deviations, without NaN."""
    has_shape = array.ndim == 2 and array.shape[1] == 4 and len(array) <= MAX_DISCS
    return has_shape and bool((np.abs(array) <= reach_px).all())
